"""The ONNX graph of a small aligner, built in memory from the arrays of its model folder.

Embeddings are eight-bit integers with a scale for each word. Their tables are inputs of the graph, so that onnxruntime
reads them where they are: in files that all processes map. Matrix products are computed in integers: weights have seven
bits and a scale for each row (with eight, sums overflow on older processors), inputs eight bits and one scale for each
product, measured on real text beforehand. Scales measured at run time would be shared by all sentences in a batch, so a
pair's links would depend on its neighbours.

Operators were chosen by measured speed: fused QAttention takes less than half the time of the unfused version, but
fused Add+LayerNorm takes twice as long as the two separate operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from weft.align.model_folder import AlignerFolder, encoder_names, table_names
from weft.config import EncoderConfig
from weft.text.subwords import PAD

SIDES = ("source", "target")  # inputs: the ids of both sides
OUTPUTS = ("forward", "backward")  # the attention of both directions
_RUNTIME = "com.microsoft"  # operators that onnxruntime adds to the standard
_OPERATORS = [{"domain": "", "version": 17}, {"domain": _RUNTIME, "version": 1}]
_FLOAT, _UINT8, _INT8, _INT32, _INT64 = 1, 2, 3, 6, 7  # ONNX's numbers of element types
_TYPES = {np.float32: _FLOAT, np.uint8: _UINT8, np.int8: _INT8, np.int64: _INT64}
_HIDDEN = -1e9  # added to a masked score
_EPSILON = 1e-5  # of layer norms, as in torch

# The part of ONNX's messages that is needed: name, type and number of each field; a star marks lists.
_MESSAGES = {
    "Model": "ir_version:int64=1 graph:Graph=7 opset_import:*OperatorSet=8",
    "OperatorSet": "domain:string=1 version:int64=2",
    "Graph": "node:*Node=1 name:string=2 initializer:*Tensor=5 input:*Value=11 output:*Value=12",
    "Node": "input:*string=1 output:*string=2 op_type:string=4 attribute:*Attribute=5 domain:string=7",
    "Attribute": "name:string=1 f:float=2 i:int64=3 ints:*int64=8 type:int32=20",
    "Tensor": "dims:*int64=1 data_type:int32=2 name:string=8 raw_data:bytes=9",
    "Value": "name:string=1 type:Type=2",
    "Type": "tensor_type:TensorType=1",
    "TensorType": "elem_type:int32=1 shape:Shape=2",
    "Shape": "dim:*Dimension=1",
    "Dimension": "dim_value:int64=1 dim_param:string=2",
}
_ATTRIBUTES = {float: ("f", 1), int: ("i", 2), list: ("ints", 7)}  # field and type number of an attribute's value


def scorer_graph(model: AlignerFolder, fast: bool) -> bytes:
    """Build the graph of an aligner's encoders, or of the fast ones. Returns what onnxruntime loads.

    Its inputs are the ids of sentence pairs, ``source`` and ``target``, (batch, length), each row ended by
    end-of-sentence and padded; and the tables of the aligner. Its outputs are ``forward`` and ``backward``, both
    (batch, target, source).
    """
    width, encoders = model.config.encoders.width, encoder_names(model.config.shared)
    graph = _Graph(*model.encoders(fast), width)
    graph.attend(encoders[0], encoders[-1])
    inputs = [_value(side, _INT64, "batch", f"{side}_length") for side in SIDES]
    for table, scales in map(table_names, encoders):
        inputs += [_value(table, _INT8, "words", width), _value(scales, _FLOAT, "words", 1)]
    content = {
        "name": "weft",
        "node": graph.nodes,
        "initializer": graph.constants.values(),
        "input": inputs,
        "output": [_value(output, _FLOAT, "batch", "target_length", "source_length") for output in OUTPUTS],
    }
    return _model_message()(ir_version=9, graph=content, opset_import=_OPERATORS).SerializeToString()


class _Graph:
    """Collects operators and constants. Every method that adds one returns the name of its result."""

    def __init__(self, arrays: Mapping[str, np.ndarray], shape: EncoderConfig, width: int) -> None:
        self._arrays, self._shape, self._width = arrays, shape, width
        self.nodes: list[dict[str, Any]] = []
        self.constants: dict[str, dict[str, Any]] = {}

    def __call__(self, operator: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        described = []
        for name, value in attributes.items():
            field, number = _ATTRIBUTES[type(value)]
            described.append({"name": name, field: value, "type": number})
        self.nodes.append(
            {"op_type": operator, "input": inputs, "output": [output], "attribute": described, "domain": domain}
        )
        return output

    def constant(self, value: Any, kind: Any = np.float32, name: str = "") -> str:
        """Add a number or an array, unless it is there already."""
        array = np.asarray(value, kind)
        name = name or f"{kind.__name__} {array.tolist()}"
        content = {"name": name, "dims": array.shape, "data_type": _TYPES[kind], "raw_data": array.tobytes()}
        self.constants[name] = content
        return name

    def learned(self, name: str) -> str:
        return self.constant(self._arrays[name], name=name)

    def quantised(self, states: str, layer: str, positive: bool = False) -> tuple[str, str, str]:
        """Quantise the input of a layer to eight bits. Returns the integers, their scale and their zero point.

        With ``positive``, negative numbers become 0: a ReLU that costs nothing.
        """
        scale, zero_point = self.learned(f"{layer}.input_scale"), self.constant(0 if positive else 128, np.uint8)
        return self("QuantizeLinear", states, scale, zero_point), scale, zero_point

    def matrix(self, layer: str) -> tuple[str, str]:
        """Add the weights of a layer, (input, output), and the scale of each column."""
        name = f"{layer}.weight"
        scales = self.constant(self._arrays[f"{name}.scale"][:, 0], name=f"{name}.scale")
        return self.constant(self._arrays[name].T, np.int8, name), scales

    def linear(self, states: str, layer: str, positive: bool = False) -> str:
        """Apply a linear layer; with ``positive``, to the ReLU of its input."""
        integers, scale, zero_point = self.quantised(states, layer, positive)
        matrix, scales = self.matrix(layer)
        bias = ["", self.learned(f"{layer}.bias")] if f"{layer}.bias" in self._arrays else []
        return self("MatMulIntegerToFloat", integers, matrix, scale, scales, zero_point, *bias, domain=_RUNTIME)

    def norm(self, states: str, name: str) -> str:
        weight, bias = self.learned(f"{name}.weight"), self.learned(f"{name}.bias")
        return self("LayerNormalization", states, weight, bias, axis=-1, epsilon=_EPSILON)

    def attention(self, states: str, name: str, lengths: str) -> str:
        """Apply self-attention within the sentence of each row."""
        integers, scale, zero_point = self.quantised(states, f"{name}.project")
        matrix, scales = self.matrix(f"{name}.project")
        bias = self.constant(np.zeros(3 * self._shape.width), name="no_bias")
        inputs = [integers, matrix, bias, scale, scales, lengths, zero_point, self.constant(0, np.int8)]
        attended = self("QAttention", *inputs, domain=_RUNTIME, num_heads=self._shape.heads)
        return self.linear(attended, f"{name}.output")

    def words(self, side: str, encoder: str) -> str:
        """Look up embeddings, scaled by √width as in all models. (batch, length, width)"""
        rows, scales = (self("Gather", table, side) for table in table_names(encoder))
        scales = self("Mul", scales, self.constant(self._width**0.5))
        words = self("Mul", self("Cast", rows, to=_FLOAT), scales)
        narrow = f"{encoder}.embedding.narrow"
        return self.linear(words, narrow) if f"{narrow}.weight" in self._arrays else words

    def positions(self, side: str) -> str:
        """Compute ``layers.sinusoids`` for the length of a batch; a table would take a megabyte. (length, width)"""
        length = self("Squeeze", self("Shape", side, start=1))
        places = self("Range", self.constant(0, np.int64), length, self.constant(1, np.int64))
        places = self("Unsqueeze", self("Cast", places, to=_FLOAT), self.constant([1], np.int64))
        angles = self("Mul", places, self.learned("rates"))
        return self("Concat", self("Sin", angles), self("Cos", angles), axis=1)

    def padding(self, side: str) -> str:
        """Mark the places without a piece. (batch, length)"""
        return self("Equal", side, self.constant(PAD, np.int64))

    def lengths(self, side: str) -> str:
        """Count the pieces in each row. (batch,)"""
        real = self("Cast", self("Not", self.padding(side)), to=_INT32)
        return self("ReduceSum", real, self.constant([1], np.int64), keepdims=0)

    def encode(self, side: str, encoder: str) -> str:
        """Compute states to compare with those of the other side. (batch, length, width)"""
        words, lengths = self.words(side, encoder), self.lengths(side)
        states = self("Add", words, self.positions(side))
        for layer in (f"{encoder}.layers.{number}" for number in range(self._shape.layers)):
            normed = self.norm(states, f"{layer}.norm_attention")
            states = self("Add", states, self.attention(normed, f"{layer}.attention", lengths))
            inner = self.linear(self.norm(states, f"{layer}.norm_feed_forward"), f"{layer}.feed_forward.0")
            states = self("Add", states, self.linear(inner, f"{layer}.feed_forward.2", positive=True))
        both = self("Add", self.norm(words, f"{encoder}.norm_words"), self.norm(states, f"{encoder}.norm_states"))
        return self.linear(both, f"{encoder}.project")

    def products(self, rows: str, columns: str) -> str:
        """Multiply the states of each pair of places. (batch, rows, columns)"""
        return self("MatMul", rows, self("Transpose", columns, perm=[0, 2, 1]))

    def attend(self, *encoders: str) -> None:
        """Compute both directions' attention, the graph's ``OUTPUTS``. (batch, target, source)"""
        source, target = map(self.encode, SIDES, encoders)
        scores, scale = self.products(target, source), self._shape.width**-0.5
        if len(set(encoders)) == 1:  # with the other order of the sides: both add up the same numbers, rounded alike
            scores = self("Add", scores, self("Transpose", self.products(source, target), perm=[0, 2, 1]))
            scale /= 2
        scores = self("Mul", scores, self.constant(scale))
        for output, axis, side in zip(OUTPUTS, (2, 1), SIDES, strict=True):
            hidden = self("Mul", self("Cast", self.padding(side), to=_FLOAT), self.constant(_HIDDEN))
            hidden = self("Unsqueeze", hidden, self.constant([3 - axis], np.int64))
            self("Softmax", self("Add", scores, hidden), axis=axis, output=output)


def _value(name: str, kind: int, *shape: str | int) -> dict[str, Any]:
    """Describe an input or output of the graph; sizes that are not known have names."""
    dimensions = [{"dim_param" if isinstance(size, str) else "dim_value": size} for size in shape]
    return {"name": name, "type": {"tensor_type": {"elem_type": kind, "shape": {"dim": dimensions}}}}


def _model_message() -> Any:
    """Return the class of the message ``Model``; messages within it can be given as dictionaries."""
    file = descriptor_pb2.FileDescriptorProto(name="weft.proto", package="weft")
    types = descriptor_pb2.FieldDescriptorProto
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for field in fields.split():
            name, kind, number = field.replace("=", ":").split(":")
            label = types.LABEL_REPEATED if kind.startswith("*") else types.LABEL_OPTIONAL
            one = described.field.add(name=name, number=int(number), label=label)
            kind = kind.lstrip("*")
            if kind in _MESSAGES:
                one.type_name = f".weft.{kind}"
            else:
                one.type = types.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("weft.Model"))
