"""A trained scorer as an ONNX graph with eight-bit arithmetic, which runs on any CPU without torch.

The graph is written down operator by operator: it is small, and so it says exactly what is computed. Embeddings are
eight-bit numbers with a scale for each word. Matrix products are made of integers: weights have seven bits and a scale
for each column (with eight, sums overflow on older processors), inputs eight bits and one scale for each product,
measured on real text beforehand. A scale that were measured while the graph runs would be shared by the sentences of a
batch, and then the links of a pair would depend on its neighbours.

Which operators onnxruntime is fast at decides their choice: its attention of one piece takes less than half the time of
the same in small ones, while its sum and layer norm in one piece takes twice that of the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from weft.align.model_folder import FAST, FORMAT, GRAPH, WAYS
from weft.config import AlignerConfig, EncoderConfig
from weft.config_io import to_dict
from weft.errors import WeftError
from weft.model.layers import SelfAttention, sinusoid_rates
from weft.model.rows import PairRows
from weft.model.scorer import Scorer, SideEncoder, model_config
from weft.model.torch_folder import write_files
from weft.text.subwords import PAD, Subwords

_OPSET = 17
_RUNTIME = "com.microsoft"  # operators that onnxruntime adds to the standard
_HIDDEN = -1e9  # what a masked score is lowered by

Ranges = dict[nn.Module, float]
"""The largest absolute input of each linear layer."""


@torch.no_grad()
def measured_ranges(scorer: Scorer, batches: Iterable[PairRows]) -> Ranges:
    """Run a scorer on some text and see how large the inputs of its matrices become."""
    ranges: Ranges = {}

    def look(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        ranges[module] = max(ranges.get(module, 0.0), inputs[0].abs().max().item())

    hooks = [part.register_forward_pre_hook(look) for part in scorer.modules() if isinstance(part, nn.Linear)]
    for pair in batches:
        scorer(pair)
        if scorer.fast is not None:
            scorer.fast(pair)
    for hook in hooks:
        hook.remove()
    return ranges


class _Graph:
    """Collects nodes and constants; every method returns the name of what it computes.

    Constants that were learned have the names that they have in the scorer, so that they can be found again.
    """

    def __init__(self, scorer: Scorer, ranges: Ranges) -> None:
        self._ranges = ranges
        self._names = {module: name for name, module in scorer.named_modules()}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: np.ndarray | Tensor, name: str = "") -> str:
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        name = name or f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.require(array, requirements="C"), name)
        return name

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def scalar(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def quantised(self, states: str, layer: nn.Linear, positive: bool) -> tuple[str, str, str]:
        """The input of a layer as eight-bit numbers, their scale and the number that stands for 0.

        Where only ``positive`` numbers count, all others become 0: a ReLU that costs nothing.
        """
        zero = 0 if positive else 128
        largest = np.array(max(self._ranges[layer], 1e-9) / (255 - zero), np.float32)
        scale = self.constant(largest, f"{self._names[layer]}.input_scale")
        shift = self.constant(np.array(zero, np.uint8))
        return self("QuantizeLinear", states, scale, shift), scale, shift

    def weights(self, layer: nn.Linear) -> tuple[str, str]:
        """The matrix of a layer as seven-bit numbers, (input, output), and the scale of each column."""
        weight = layer.weight.detach().cpu().numpy().T
        scales = (np.abs(weight).max(0).clip(1e-9) / 63).astype(np.float32)
        name = f"{self._names[layer]}.weight"
        return self.constant(np.round(weight / scales).astype(np.int8), name), self.constant(scales, f"{name}.scale")

    def linear(self, states: str, layer: nn.Linear, positive: bool = False) -> str:
        """A linear layer; with ``positive``, of the ReLU of its input."""
        small, scale, shift = self.quantised(states, layer, positive)
        matrix, scales = self.weights(layer)
        bias = [] if layer.bias is None else ["", self.constant(layer.bias, f"{self._names[layer]}.bias")]
        return self("MatMulIntegerToFloat", small, matrix, scale, scales, shift, *bias, domain=_RUNTIME)

    def norm(self, states: str, norm: nn.LayerNorm) -> str:
        name = self._names[norm]
        weight, bias = self.constant(norm.weight, f"{name}.weight"), self.constant(norm.bias, f"{name}.bias")
        return self("LayerNormalization", states, weight, bias, axis=-1, epsilon=norm.eps)

    def padding_bias(self, ids: str) -> str:
        """0 for pieces, very low for padding. (batch, length)"""
        padding = self("Equal", ids, self.constant(np.array(PAD, np.int64)))
        return self("Mul", self("Cast", padding, to=TensorProto.FLOAT), self.scalar(_HIDDEN))

    def words(self, encoder: SideEncoder, ids: str) -> str:
        """Embeddings as the encoder scales them. (batch, length, width)"""
        table = encoder.embedding.words.weight.detach().cpu().numpy()
        scale = np.abs(table).max(1, keepdims=True).clip(1e-9) / 127
        name = f"{self._names[encoder.embedding.words]}.weight"
        rows = self("Gather", self.constant(np.round(table / scale).astype(np.int8), name), ids)
        # Embeddings are multiplied by the root of their width wherever they are used.
        scales = self.constant((scale * table.shape[1] ** 0.5).astype(np.float32), f"{name}.scale")
        scales = self("Gather", scales, ids)
        words = self("Mul", self("Cast", rows, to=TensorProto.FLOAT), scales)
        narrow = encoder.embedding.narrow
        return words if narrow is None else self.linear(words, narrow)

    def positions(self, encoder: SideEncoder, ids: str) -> str:
        """``layers.sinusoids`` for the length of a batch; computed, for a table would be a megabyte. (length, width)"""
        rates = sinusoid_rates(encoder.project.in_features)
        length = self("Squeeze", self("Gather", self("Shape", ids), self.numbers(1), axis=0), self.numbers(0))
        zero, one = (self.constant(np.array(number, np.int64)) for number in (0, 1))
        places = self("Cast", self("Range", zero, length, one), to=TensorProto.FLOAT)
        angles = self("Mul", self("Unsqueeze", places, self.numbers(1)), self.constant(rates[None]))
        return self("Concat", self("Sin", angles), self("Cos", angles), axis=1)

    def lengths(self, ids: str) -> str:
        """The number of pieces in each row. (batch)"""
        real = self("Not", self("Equal", ids, self.constant(np.array(PAD, np.int64))))
        return self("ReduceSum", self("Cast", real, to=TensorProto.INT32), self.numbers(1), keepdims=0)

    def attention(self, states: str, layer: SelfAttention, lengths: str) -> str:
        """Self-attention within one sentence a row."""
        small, scale, shift = self.quantised(states, layer.project, positive=False)
        matrix, scales = self.weights(layer.project)
        bias = self.constant(np.zeros(layer.project.out_features, np.float32))
        inputs = [small, matrix, bias, scale, scales, lengths, shift, self.constant(np.array(0, np.int8))]
        return self.linear(self("QAttention", *inputs, domain=_RUNTIME, num_heads=layer.heads), layer.output)

    def encode(self, encoder: SideEncoder, ids: str) -> str:
        """States to compare with those of the other side. (batch, length, width)"""
        words, lengths = self.words(encoder, ids), self.lengths(ids)
        states = self("Add", words, self.positions(encoder, ids))
        for layer in encoder.encoder_layers:
            attended = self.attention(self.norm(states, layer.norm_attention), layer.attention, lengths)
            states = self("Add", states, attended)
            first, last = layer.feed_forward.linears
            inner = self.linear(self.norm(states, layer.norm_feed_forward), first)
            states = self("Add", states, self.linear(inner, last, positive=True))
        both = self("Add", self.norm(words, encoder.norm_words), self.norm(states, encoder.norm_states))
        return self.linear(both, encoder.project)

    def attend(self, scorer: Scorer, prefix: str = "") -> list[str]:
        """Both directions' attention, under the names that are returned. (batch, target, source)"""
        source, target = self.encode(scorer.source, "source"), self.encode(scorer.target, "target")
        scores = self("MatMul", target, self("Transpose", source, perm=[0, 2, 1]))
        scores = self("Mul", scores, self.scalar(scorer.source.project.out_features**-0.5))
        outputs = [f"{prefix}{way}" for way in WAYS]
        for output, axis, side in zip(outputs, (2, 1), ("source", "target"), strict=True):
            hidden = self("Unsqueeze", self.padding_bias(side), self.numbers(3 - axis))
            self.nodes.append(helper.make_node("Softmax", [self("Add", scores, hidden)], [output], axis=axis))
        return outputs


def scorer_graph(scorer: Scorer, ranges: Ranges) -> onnx.ModelProto:
    """From the ids of sentence pairs, one a row, (batch, source) and (batch, target), to both directions' attention.

    Ids end with end-of-sentence and are filled with padding. ``forward`` and ``backward`` are (batch, target, source),
    and so are ``fast_forward`` and ``fast_backward`` of a fast scorer; only what is asked for is computed.
    """
    graph = _Graph(scorer, ranges)
    outputs = graph.attend(scorer)
    if scorer.fast is not None:
        outputs += graph.attend(scorer.fast, FAST)

    def info(name: str, kind: int, *shape: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, list(shape))

    made = helper.make_graph(
        graph.nodes,
        "weft scorer",
        [info(side, TensorProto.INT64, "batch", f"{side}_length") for side in ("source", "target")],
        [info(output, TensorProto.FLOAT, "batch", "target_length", "source_length") for output in outputs],
        list(graph.constants.values()),
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_RUNTIME, 1)], ir_version=9
    )
    onnx.checker.check_model(model)
    return model


def read_scorer(path: Path, config: AlignerConfig, dropout: float) -> Scorer:
    """The scorer that ``scorer_graph`` has written into a file, as exactly as eight bits hold it.

    Constants stand in the order in which ``scorer_graph`` writes them.
    """
    stored = [numpy_helper.to_array(constant) for constant in onnx.load(path).graph.initializer]
    shape = config.encoders
    scorer = Scorer(model_config(shape, dropout), len(stored[0]), shape.layers)
    if config.fast.layers:
        scorer.add_fast(config.fast, dropout)
    written = scorer_graph(scorer, dict.fromkeys(scorer.modules(), 1.0)).graph.initializer
    if [tuple(constant.dims) for constant in written] != [array.shape for array in stored]:
        raise WeftError(f"{path}: not the graph of encoders as config.json describes them")
    constants = {constant.name: array for constant, array in zip(written, stored, strict=True)}
    with torch.no_grad():
        for name, parameter in scorer.named_parameters():
            value = constants[name]
            if name.endswith("embedding.words.weight"):
                value = value * constants[f"{name}.scale"] / shape.width**0.5
            elif value.dtype == np.int8:
                value = (value * constants[f"{name}.scale"]).T
            parameter.copy_(torch.tensor(value))
    return scorer


def save_aligner(
    folder: Path, scorer: Scorer, batches: Iterable[PairRows], subwords: Subwords, threshold: float
) -> None:
    """A model folder that ``align.onnx_aligner`` reads; ``batches`` are text to measure the sizes of numbers on."""
    graph = scorer_graph(scorer, measured_ranges(scorer, batches))
    config: dict[str, Any] = {"threshold": threshold, "encoders": to_dict(_shape(scorer))}
    if scorer.fast is not None:
        config["fast"] = to_dict(_shape(scorer.fast))

    def save(staging: Path) -> None:
        onnx.save(graph, staging / GRAPH)

    write_files(folder, FORMAT, config, subwords, save)


def _shape(scorer: Scorer) -> EncoderConfig:
    layer = scorer.source.encoder_layers[0]
    return EncoderConfig(
        layers=len(scorer.source.layers),
        width=scorer.source.project.in_features,
        feed_forward=layer.feed_forward.linears[0].out_features,
        heads=layer.attention.heads,
    )
