"""Model folders: those of small aligners, where they are, and what is in them.

A folder holds config.json, tokenizer.json and README.md; source.npy and target.npy, the embeddings of both sides, or
both.npy if one encoder reads both; and weights.safetensors, all other arrays. It may come from anywhere, and holds
numbers only: nothing in it is ever run. config.json says which arrays there are, their shapes and types, and so how
large each file is. All of that is checked before memory is taken.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from weft.config import AlignerConfig, EncoderConfig
from weft.config_io import from_dict, to_dict
from weft.errors import WeftError, printable
from weft.storage import atomic_folder, read_bytes, read_json, read_text, write_json
from weft.text.subwords import Subwords

DEFAULT_MODEL = "multi"  # the shipped model of those who name none
FORMAT = "weft aligner 2"
SHIPPED = Path(__file__).parent.parent / "models"
FAST = "fast."  # begins the names of the fast encoders' arrays
_WEIGHTS = "weights.safetensors"
_MOST_TEXT = 1_000_000  # bytes of config.json and of README.md
_MOST_ARRAYS = 1_000_000_000  # bytes of all arrays
_MOST_LAYERS = 100
_MOST_HEADER = 1_000_000  # bytes of names and shapes in front of the numbers
_AGAIN = "get the model again from where it came from"

Layout = tuple[tuple[int, ...], str]
"""The shape of an array and the name of its type in safetensors."""
_TYPES = {"I8": np.dtype("int8"), "F32": np.dtype("<f4")}


def shipped_models() -> dict[str, Path]:
    """Return the folders of all shipped models by name, such as multi."""
    return {path.parent.name: path.parent for path in sorted(SHIPPED.glob("*/config.json"))}


def find_model(model: str | os.PathLike[str] | None = None) -> Path:
    """Find the folder of a shipped model by its name, or of any model by its path; without either, the default one."""
    models = shipped_models()
    name = DEFAULT_MODEL if model is None else os.fspath(model)
    if name in models:
        return models[name]
    path = Path(name)
    if path.is_dir():
        return path
    turned = "-".join(reversed(name.split("-")))
    if turned in models:
        raise WeftError(f"{name}: use {turned} and reverse; the same model aligns both directions")
    raise WeftError(f"{name}: neither a shipped model ({', '.join(models) or 'there is none'}) nor a model folder")


def card(folder: Path) -> str:
    """Return a model's README.md, safe for a terminal."""
    return printable(read_text(folder / "README.md", _MOST_TEXT))


def description(folder: Path) -> str:
    """Return the first paragraph of a model's card, in one line."""
    paragraphs = (paragraph for paragraph in card(folder).split("\n\n") if not paragraph.startswith("#"))
    return " ".join(next(paragraphs, "").split())


@dataclass(frozen=True)
class ModelFolder(os.PathLike[str]):
    """The folder of any model of weft and what its config.json says, which is read once."""

    path: Path
    described: dict[str, Any] = field(hash=False)

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def is_small_aligner(self) -> bool:
        """Whether this is a small aligner, not a whole system."""
        return self.described["format"] == FORMAT

    @property
    def has_fast_encoders(self) -> bool:
        """Whether a small aligner has narrow encoders as well."""
        fast = self.described.get("fast")
        return isinstance(fast, dict) and bool(fast.get("layers"))


def open_model(model: str | os.PathLike[str] | None = None) -> ModelFolder:
    """Find a model as ``find_model`` does and read its config.json, unless that was done."""
    if isinstance(model, ModelFolder):
        return model
    folder = find_model(model)
    path = folder / "config.json"
    try:
        described = read_json(path, _MOST_TEXT)
    except FileNotFoundError:
        raise WeftError(f"{folder}: not a model folder (no {path.name})") from None
    form = described.get("format") if isinstance(described, dict) else None
    if not isinstance(form, str) or not form.startswith("weft "):
        raise WeftError(f"{path}: not of a model of weft, which would have a format such as '{FORMAT}'")
    if form == "weft aligner 1":
        raise WeftError(f"{folder}: made by an older weft (format 1); get it again or train again")
    return ModelFolder(folder, described)


def encoder_names(shared: bool) -> tuple[str, ...]:
    """Return the names of the encoders of an aligner, which begin the names of their arrays: one for each side."""
    return ("both",) if shared else ("source", "target")


def table_names(encoder: str) -> tuple[str, str]:
    """Return the names of an encoder's embeddings, (words, width), and of their scales, (words, 1)."""
    return f"{encoder}.embedding.words.weight", f"{encoder}.embedding.words.weight.scale"


class AlignerFolder(NamedTuple):
    """The content of a small aligner's folder."""

    config: AlignerConfig
    subwords: Subwords
    arrays: Mapping[str, np.ndarray]
    """By their names in ``model.scorer``; embeddings are mapped, so that all processes share them."""

    def encoders(self, fast: bool) -> tuple[Mapping[str, np.ndarray], EncoderConfig]:
        """Return the arrays and the shape of the encoders, or of the fast ones. Names have no prefix."""
        if not fast:
            return self.arrays, self.config.encoders
        return {
            name.removeprefix(FAST): array for name, array in self.arrays.items() if name.startswith(FAST)
        }, self.config.fast

    def tables(self) -> dict[str, np.ndarray]:
        """Return all embeddings and their scales by name."""
        encoders = encoder_names(self.config.shared)
        return {name: self.arrays[name] for encoder in encoders for name in table_names(encoder)}

    def checksum(self) -> str:
        """Return a checksum of all arrays."""
        found = hashlib.sha256()
        for name in sorted(self.arrays):
            found.update(name.encode())
            found.update(self.arrays[name].tobytes())
        return found.hexdigest()


def read_aligner(model: str | os.PathLike[str], fast: bool = False) -> AlignerFolder:
    """Read a small aligner. Raises WeftError if its folder is damaged, or it has no ``fast`` encoders if asked."""
    opened = open_model(model)
    folder, path = opened.path, opened.path / "config.json"
    if not opened.is_small_aligner:
        raise WeftError(f"{path}: not of a small aligner ('{FORMAT}'); weft train writes one into RUN/aligner")
    for name in ("text", "encoders"):
        if name not in opened.described:
            raise WeftError(f"{path}: damaged, it has no '{name}'")
    config = from_dict(AlignerConfig, opened.described, str(path))
    if fast and not config.fast.layers:
        raise WeftError(f"{folder}: this aligner has no fast encoders")
    try:
        layouts = array_layouts(config)
    except WeftError as error:
        raise WeftError(f"{path}: {error}") from None
    subwords = Subwords.load(folder / "tokenizer.json", config.text, config.vocabulary)
    tables = {}
    for encoder in encoder_names(config.shared):
        name, _ = table_names(encoder)
        tables[name] = _map_table(folder / f"{encoder}.npy", layouts.pop(name))
    return AlignerFolder(config, subwords, tables | _read_weights(folder / _WEIGHTS, layouts))


def write_aligner(folder: Path, model: AlignerFolder) -> None:
    """Write the folder of a small aligner."""
    arrays = dict(model.arrays)
    with atomic_folder(folder) as staging:
        for encoder in encoder_names(model.config.shared):
            table, _ = table_names(encoder)
            rows = arrays.pop(table)
            (staging / f"{encoder}.npy").write_bytes(_table_header(rows.shape) + rows.tobytes())
        # Not by save_file, which makes files that only their owner can read.
        (staging / _WEIGHTS).write_bytes(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))
        model.subwords.save(staging / "tokenizer.json")
        write_json(staging / "config.json", to_dict(model.config))


def array_layouts(config: AlignerConfig) -> dict[str, Layout]:
    """Return the layouts of all arrays of an aligner by name. Raises WeftError if they are too large."""
    width = config.encoders.width
    if max(config.encoders.layers, config.fast.layers) > _MOST_LAYERS:
        raise WeftError(f"a small aligner has {_MOST_LAYERS} layers at most")
    layouts: dict[str, Layout] = {}
    encoders = encoder_names(config.shared)
    for table, scales in map(table_names, encoders):
        layouts[table] = (config.vocabulary, width), "I8"
        layouts[scales] = (config.vocabulary, 1), "F32"
    layouts |= dict(_encoder_layouts(encoders, config.encoders, width))
    if config.fast.layers:
        layouts |= {f"{FAST}{name}": layout for name, layout in _encoder_layouts(encoders, config.fast, width)}
    if sum(map(_size, layouts.values())) > _MOST_ARRAYS:
        raise WeftError("encoders or vocabulary are too large for a small aligner")
    return layouts


def _encoder_layouts(encoders: Iterable[str], shape: EncoderConfig, words: int) -> Iterator[tuple[str, Layout]]:
    """Yield the names and layouts of the arrays of encoders of a shape, which read embeddings ``words`` wide."""

    def matrix(name: str, outputs: int, inputs: int, bias: bool = False) -> Iterator[tuple[str, Layout]]:
        yield f"{name}.weight", ((outputs, inputs), "I8")
        yield f"{name}.weight.scale", ((outputs, 1), "F32")
        yield f"{name}.input_scale", ((), "F32")
        if bias:
            yield f"{name}.bias", ((outputs,), "F32")

    def norm(name: str) -> Iterator[tuple[str, Layout]]:
        yield f"{name}.weight", ((width,), "F32")
        yield f"{name}.bias", ((width,), "F32")

    width = shape.width
    yield "rates", ((width // 2,), "F32")  # of the positional encoding
    for encoder in encoders:
        if width != words:
            yield from matrix(f"{encoder}.embedding.narrow", width, words)
        for layer in (f"{encoder}.layers.{number}" for number in range(shape.layers)):
            yield from norm(f"{layer}.norm_attention")
            yield from matrix(f"{layer}.attention.project", 3 * width, width)
            yield from matrix(f"{layer}.attention.output", width, width)
            yield from norm(f"{layer}.norm_feed_forward")
            yield from matrix(f"{layer}.feed_forward.0", shape.feed_forward, width, bias=True)
            yield from matrix(f"{layer}.feed_forward.2", width, shape.feed_forward, bias=True)
        yield from norm(f"{encoder}.norm_words")
        yield from norm(f"{encoder}.norm_states")
        yield from matrix(f"{encoder}.project", width, width)


def _size(layout: Layout) -> int:
    """Return the bytes that an array takes."""
    return math.prod(layout[0]) * _TYPES[layout[1]].itemsize


def _table_header(shape: tuple[int, ...]) -> bytes:
    """Return how numpy begins a file of int8 of this shape."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|i1", "fortran_order": False, "shape": shape})
    return header.getvalue()


def _map_table(path: Path, layout: Layout) -> np.ndarray:
    """Map the array of a .npy file. The file must begin exactly as numpy would begin it: there is nothing to parse."""
    shape, _ = layout
    header = _table_header(shape)
    try:
        if path.exists() and not path.is_file():
            raise WeftError(f"{path}: not a regular file")
        with path.open("rb") as file:
            if file.read(len(header)) != header or os.fstat(file.fileno()).st_size != len(header) + _size(layout):
                raise WeftError(f"{path}: not int8 of shape {shape}, as config.json says; {_AGAIN}")
            return np.memmap(file, np.int8, "r", len(header), shape)
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None


def _read_weights(path: Path, layouts: Mapping[str, Layout]) -> dict[str, np.ndarray]:
    """Read the arrays of a safetensors file, which must have these layouts and no others."""
    content = read_bytes(path, sum(map(_size, layouts.values())) + _MOST_HEADER)
    try:
        stored = dict(deserialize(content))
    except SafetensorError:
        raise WeftError(f"{path}: damaged or truncated; {_AGAIN}") from None
    found = {name: (tuple(one["shape"]), one["dtype"]) for name, one in stored.items()}
    for name in sorted(found.keys() | layouts.keys()):
        if found.get(name) != layouts.get(name):
            is_there, should_be = (_words(one.get(name)) for one in (found, layouts))
            raise WeftError(f"{path}: {name!r} is {is_there}, but config.json says {should_be}; {_AGAIN}")
    arrays = {}
    for name, (shape, kind) in layouts.items():
        arrays[name] = np.frombuffer(stored[name]["data"], _TYPES[kind]).reshape(shape)
        if kind == "F32" and not np.isfinite(arrays[name]).all():
            raise WeftError(f"{path}: {name} has numbers that are not finite; {_AGAIN}")
    return arrays


def _words(layout: Layout | None) -> str:
    return "nothing" if layout is None else f"{layout[1]} of shape {layout[0]}"
