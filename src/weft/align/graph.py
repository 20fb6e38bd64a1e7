"""A look at a graph file before it is loaded: model folders may come from strangers.

An ONNX file can name other files to read, claim any size, and use any operator. The graph of a small aligner does none
of that, and whatever does is refused. The file is read as what it is, a Protocol Buffers message, for which a few lines
are enough: a message is a list of numbered fields, each a number or some bytes, which may be a message again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.errors import WeftError

LARGEST = 200_000_000  # bytes of a graph file
_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 7: 8}  # of numbers by their ONNX type: float, uint8, int8, int64
_OPERATORS = """
Add Cast Concat Cos Equal Gather LayerNormalization MatMul MatMulIntegerToFloat Mul Not QAttention QuantizeLinear Range
ReduceSum Shape Sin Softmax Squeeze Transpose Unsqueeze
""".split()  # noqa: SIM905
Field = tuple[int, int | memoryview]


def check_graph(path: Path, vocabulary: int) -> None:
    """Raise an error unless a file can be the graph of a small aligner with so many entries in its vocabulary."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise WeftError(f"{path}: {size / 1e6:,.0f} MB are too large for a small aligner")
        model = memoryview(path.read_bytes())
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None
    try:
        problem = _problem(model, vocabulary)
    except (ValueError, IndexError, TypeError):
        problem = "damaged or truncated"
    if problem:
        raise WeftError(f"{path}: {problem}; get the model again from where it came from")


def part_for(path: Path, outputs: Sequence[str]) -> bytes:
    """A graph file without what these outputs do not need: onnxruntime computes whatever is in a graph."""
    parts = list(_fields(memoryview(path.read_bytes())))
    (graph,) = (list(_fields(_message(content))) for number, content in parts if number == 7)
    needed = {output.encode() for output in outputs}
    kept = []
    for number, content in reversed(graph):  # operators come behind those that they build on, constants behind all
        if number == 1:
            node = _message(content)
            if needed.isdisjoint(_text(node, 2)):
                continue
            needed.update(_text(node, 1))
        elif number == 12 and needed.isdisjoint(_text(_message(content), 1)):
            continue
        kept.append((number, content))
    kept = [(number, content) for number, content in kept if number != 5 or needed & {_tensor(_message(content))[0]}]
    return b"".join(
        _written(number, b"".join(_written(*field) for field in reversed(kept)) if number == 7 else content)
        for number, content in parts
    )


def _problem(model: memoryview, vocabulary: int) -> str | None:
    """What is wrong with a ModelProto, if anything."""
    parts = list(_fields(model))
    graphs = [_message(content) for number, content in parts if number == 7]
    known = {1, 2, 3, 7, 8}  # version, producer, graph, sets of operators
    if len(graphs) != 1 or any(number not in known for number, _ in parts):
        return "not the graph of a small aligner"
    rows = {}  # of tables by name
    tables = set()
    for number, content in _fields(graphs[0]):
        if number == 1:
            inputs, operator, plain = _node(_message(content))
            if operator not in _OPERATORS or not plain:
                return f"the operator {operator} does not belong into a small aligner"
            if operator == "Gather":
                tables.add(inputs[0])
        elif number == 5:
            name, shape = _tensor(_message(content))
            if len(shape) == 2:
                rows[name] = shape[0]
        elif number not in {2, 11, 12}:  # name, inputs, outputs
            return "not the graph of a small aligner"
    if any(rows[table] < vocabulary for table in tables & rows.keys()):
        return f"the tokenizer has {vocabulary:,} pieces, but the graph fewer embeddings"
    return None


def _node(node: memoryview) -> tuple[list[bytes], str, bool]:
    """The names of an operator's inputs, its own name, and whether its attributes are plain numbers."""
    inputs, operator, plain = [], "", True
    for number, content in _fields(node):
        if number == 1:
            inputs.append(bytes(_message(content)))
        elif number == 4:
            operator = bytes(_message(content)).decode()
        elif number == 5:
            plain = plain and {field for field, _ in _fields(_message(content))} <= {1, 2, 3, 8, 20}
    return inputs, operator, plain


def _text(message: memoryview, wanted: int) -> list[bytes]:
    """All fields of a number, as bytes."""
    return [bytes(_message(content)) for number, content in _fields(message) if number == wanted]


def _tensor(tensor: memoryview) -> tuple[bytes, list[int]]:
    """The name and the shape of a constant, which must hold its numbers itself, all of them."""
    name, shape, kind, data = b"", [], 0, memoryview(b"")
    for number, content in _fields(tensor):
        if number == 1:
            shape += [content] if isinstance(content, int) else list(_numbers(content))
        elif number == 2 and isinstance(content, int):
            kind = content
        elif number == 8:
            name = bytes(_message(content))
        elif number == 9:
            data = _message(content)
        else:
            raise ValueError("data of another kind, or in another file")
    if math.prod(shape) * _ITEM_BYTES.get(kind, 0) != len(data) or not len(data):
        raise ValueError("not as many numbers as its shape says")
    return name, shape


def _fields(message: memoryview) -> Iterator[Field]:
    """The fields of a message: numbers and bytes."""
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _number(message, place)
            yield key >> 3, value
            continue
        if kind == 2:
            size, place = _number(message, place)
        elif kind in {1, 5}:
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("no such kind of field")
        if place + size > len(message):
            raise ValueError("the message ends too early")
        yield key >> 3, message[place : place + size]
        place += size


def _number(message: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, and the place behind it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
        if shift > 63:
            raise ValueError("a number without an end")


def _written(field: int, content: int | bytes | memoryview) -> bytes:
    """A field as it stands in a message."""
    if isinstance(content, int):
        return _packed(field << 3) + _packed(content)
    return b"".join((_packed(field << 3 | 2), _packed(len(content)), content))


def _packed(number: int) -> bytes:
    """Seven bits a byte."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _numbers(packed: memoryview) -> Iterator[int]:
    place = 0
    while place < len(packed):
        number, place = _number(packed, place)
        yield number


def _message(content: int | memoryview) -> memoryview:
    if isinstance(content, int):
        raise TypeError("a number where a message should be")
    return content
