"""The ONNX graphs of a small aligner, built in memory from the arrays of its model folder.

Embeddings are eight-bit integers with a scale for each word. Their tables are inputs of the graphs, so that onnxruntime
reads them where they are: in files that all processes map. Matrix products are computed in integers: weights have seven
bits and a scale for each row (with eight, sums overflow on older processors), inputs eight bits and one scale for each
product, measured on real text beforehand. Scales measured at run time would be shared by all sentences in a batch, so a
pair's links would depend on its neighbours.

Operators were chosen by measured speed. An encoder reads sentences of one length, so it computes no padding and needs
no masks, which take a seventh of attention's time. Attention after three integer products takes less time than
QAttention, which multiplies for each head on its own; fused Add+LayerNorm takes eight times as long as LayerNorm.

Integers are the same everywhere, but processors add up floating-point numbers in different orders, and then the last
bit differs. Where a number stands between two integers, the next layer sees another one. Exact graphs compute such sums
in double precision and round them: then the last bit, too, is the same, on every processor and in a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from weft.align.model_folder import AlignerFolder, encoder_names, table_names
from weft.config import EncoderConfig

SIDES = ("source", "target")
COMPARE = "compare"  # the name of the graph that compares the states of both sides
OUTPUTS = ("forward", "backward")  # the attention of both directions
_RUNTIME = "com.microsoft"  # operators that onnxruntime adds to the standard
_OPERATORS = [{"domain": "", "version": 23}, {"domain": _RUNTIME, "version": 1}]
_FLOAT, _UINT8, _INT8, _INT64, _DOUBLE = 1, 2, 3, 7, 11  # ONNX's numbers of element types
_TYPES = {np.float32: _FLOAT, np.uint8: _UINT8, np.int8: _INT8, np.int64: _INT64}
_HIDDEN = -1e9  # added to a masked score
_EPSILON = 1e-5  # of layer norms, as in torch
_ALL = slice(None)

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


def scorer_graphs(model: AlignerFolder, fast: bool, exact: bool = False) -> dict[str, bytes]:
    """Build the graphs of an aligner, or those of its fast encoders: what onnxruntime loads, by name.

    With ``exact``, results do not depend on the processor.

    There is one for each of ``encoder_names``. Its inputs are the ``ids`` of sentences of one length, (batch, length),
    each ended by end-of-sentence, and the tables of the encoder; its output are ``states``, (batch, length, width).
    The graph ``COMPARE`` has as inputs ``states``, (pieces, width), and for each side which of them are a pair's,
    (batch, length), padded with −1. Its outputs are ``forward`` and ``backward``, both (batch, target, source).
    """
    width, shared = model.config.encoders.width, model.config.shared
    arrays, shape = model.encoders(fast)
    graphs = {}
    for encoder in encoder_names(shared):
        table, scales = table_names(encoder)
        graph = _Graph(arrays, shape, width, exact)
        graph.encode(encoder)
        tables = [_value(table, _INT8, "words", width), _value(scales, _FLOAT, "words", 1)]
        output = _value("states", _FLOAT, "batch", "length", shape.width)
        graphs[encoder] = graph.message([_value("ids", _INT64, "batch", "length"), *tables], [output])
    graph = _Graph(arrays, shape, width, exact)
    graph.attend(shared)
    pairs = [_value(side, _INT64, "batch", f"{side}_length") for side in SIDES]
    outputs = [_value(output, _FLOAT, "batch", "target_length", "source_length") for output in OUTPUTS]
    graphs[COMPARE] = graph.message([_value("states", _FLOAT, "pieces", shape.width), *pairs], outputs)
    return graphs


class _Graph:
    """Collects operators and constants. Every method that adds one returns the name of its result."""

    def __init__(self, arrays: Mapping[str, np.ndarray], shape: EncoderConfig, width: int, exact: bool) -> None:
        self._arrays, self._shape, self._width, self._exact = arrays, shape, width, exact
        self.nodes: list[dict[str, Any]] = []
        self.constants: dict[str, dict[str, Any]] = {}

    def message(self, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> bytes:
        """Return the graph as onnxruntime reads it."""
        content = {"name": "weft", "node": self.nodes, "initializer": self.constants.values()}
        content |= {"input": inputs, "output": outputs}
        return _model_message()(ir_version=10, graph=content, opset_import=_OPERATORS).SerializeToString()

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

    def precise(self, values: str) -> str:
        """Return what sums are made of: in double precision, if they must be exact."""
        return self("Cast", values, to=_DOUBLE) if self._exact else values

    def rounded(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add an operator on precise values and round its result."""
        if not self._exact:
            return self(operator, *inputs, output=output, **attributes)
        return self("Cast", self(operator, *inputs, **attributes), to=_FLOAT, output=output)

    def quantised(self, states: str, layer: str, positive: bool = False) -> tuple[str, str, str]:
        """Quantise the input of a layer to eight bits. Returns the integers, their scale and their zero point.

        With ``positive``, negative numbers become 0: a ReLU that costs nothing.
        """
        scale, zero_point = self.learned(f"{layer}.input_scale"), self.constant(0 if positive else 128, np.uint8)
        return self("QuantizeLinear", states, scale, zero_point), scale, zero_point

    def product(self, quantised: tuple[str, str, str], layer: str, rows: slice = _ALL, output: str = "") -> str:
        """Multiply integers by the weights of a layer, or by some of its rows."""
        integers, scale, zero_point = quantised
        name = f"{layer}.weight" if rows == _ALL else f"{layer}.weight.{rows.start}"
        matrix = self.constant(self._arrays[f"{layer}.weight"][rows].T, np.int8, name)
        scales = self.constant(self._arrays[f"{layer}.weight.scale"][rows, 0], name=f"{name}.scale")
        bias = ["", self.learned(f"{layer}.bias")] if f"{layer}.bias" in self._arrays else []
        inputs = [integers, matrix, scale, scales, zero_point, *bias]
        return self("MatMulIntegerToFloat", *inputs, domain=_RUNTIME, output=output)

    def linear(self, states: str, layer: str, positive: bool = False, output: str = "") -> str:
        """Apply a linear layer; with ``positive``, to the ReLU of its input."""
        return self.product(self.quantised(states, layer, positive), layer, output=output)

    def norm(self, states: str, name: str) -> str:
        weight, bias = self.learned(f"{name}.weight"), self.learned(f"{name}.bias")
        if not self._exact:
            return self("LayerNormalization", states, weight, bias, axis=-1, epsilon=_EPSILON)
        centred = self("Sub", states, self.mean(states))
        variance = self("Add", self.mean(self("Mul", centred, centred)), self.constant(_EPSILON))
        return self("Add", self("Mul", self("Div", centred, self("Sqrt", variance)), weight), bias)

    def mean(self, values: str) -> str:
        """Compute the mean of the last axis."""
        return self.rounded("ReduceMean", self.precise(values), self.constant([-1], np.int64))

    def attention(self, states: str, name: str) -> str:
        """Apply self-attention within each sentence."""
        layer, width, heads = f"{name}.project", self._shape.width, self._shape.heads
        quantised = self.quantised(states, layer)
        parts = [self.product(quantised, layer, slice(first, first + width)) for first in (0, width, 2 * width)]
        if self._exact:
            attended = self.exact_attention(*parts)
        else:
            attended = self("Attention", *parts, q_num_heads=heads, kv_num_heads=heads)
        return self.linear(attended, f"{name}.output")

    def exact_attention(self, queries: str, keys: str, values: str) -> str:
        """Compute what the operator Attention, which knows no double precision, does. (batch, length, width)"""
        width, heads = self._shape.width, self._shape.heads
        divided = self.constant([0, 0, heads, width // heads], np.int64)
        queries, keys, values = (
            self.precise(self("Transpose", self("Reshape", one, divided), perm=order))
            for one, order in ((queries, [0, 2, 1, 3]), (keys, [0, 2, 3, 1]), (values, [0, 2, 1, 3]))
        )
        scale = self.precise(self.constant((width // heads) ** -0.5))
        weights = self("Softmax", self("Mul", self("MatMul", queries, keys), scale), axis=-1)
        by_place = self("Transpose", self.rounded("MatMul", weights, values), perm=[0, 2, 1, 3])
        return self("Reshape", by_place, self.constant([0, 0, width], np.int64))

    def words(self, encoder: str) -> str:
        """Look up embeddings, scaled by √width as in all models. (batch, length, width)"""
        rows, scales = (self("Gather", table, "ids") for table in table_names(encoder))
        scales = self("Mul", scales, self.constant(self._width**0.5))
        words = self("Mul", self("Cast", rows, to=_FLOAT), scales)
        narrow = f"{encoder}.embedding.narrow"
        return self.linear(words, narrow) if f"{narrow}.weight" in self._arrays else words

    def positions(self) -> str:
        """Compute ``layers.sinusoids`` for the length of a batch; a table would take a megabyte. (length, width)"""
        length = self("Squeeze", self("Shape", "ids", start=1))
        places = self("Range", self.constant(0, np.int64), length, self.constant(1, np.int64))
        places = self("Unsqueeze", self("Cast", places, to=_FLOAT), self.constant([1], np.int64))
        angles = self.precise(self("Mul", places, self.learned("rates")))
        return self.rounded("Concat", self("Sin", angles), self("Cos", angles), axis=1)

    def encode(self, encoder: str) -> None:
        """Compute the output ``states``. (batch, length, width)"""
        words = self.words(encoder)
        states = self("Add", words, self.positions())
        for layer in (f"{encoder}.layers.{number}" for number in range(self._shape.layers)):
            normed = self.norm(states, f"{layer}.norm_attention")
            states = self("Add", states, self.attention(normed, f"{layer}.attention"))
            inner = self.linear(self.norm(states, f"{layer}.norm_feed_forward"), f"{layer}.feed_forward.0")
            states = self("Add", states, self.linear(inner, f"{layer}.feed_forward.2", positive=True))
        both = self("Add", self.norm(words, f"{encoder}.norm_words"), self.norm(states, f"{encoder}.norm_states"))
        self.linear(both, f"{encoder}.project", output="states")

    def products(self, rows: str, columns: str) -> str:
        """Multiply the states of each pair of places. (batch, rows, columns)"""
        return self("MatMul", rows, self("Transpose", columns, perm=[0, 2, 1]))

    def attend(self, shared: bool) -> None:
        """Compute both directions' attention, the outputs ``OUTPUTS``. (batch, target, source)"""
        source, target = (self.precise(self("Gather", "states", side)) for side in SIDES)
        scores, scale = self.products(target, source), self._shape.width**-0.5
        if shared:  # with the other order of the sides: both add up the same numbers, rounded alike
            scores = self("Add", scores, self("Transpose", self.products(source, target), perm=[0, 2, 1]))
            scale /= 2
        scores = self("Mul", scores, self.precise(self.constant(scale)))
        for output, axis, side in zip(OUTPUTS, (2, 1), SIDES, strict=True):
            padding = self("Less", side, self.constant(0, np.int64))
            hidden = self("Mul", self("Cast", padding, to=_FLOAT), self.constant(_HIDDEN))
            hidden = self.precise(self("Unsqueeze", hidden, self.constant([3 - axis], np.int64)))
            self.rounded("Softmax", self("Add", scores, hidden), axis=axis, output=output)


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
