"""A corpus on disk as memory-mapped ids: made once by ``weft prepare``, opened at once, whatever its size.

manifest.json     counts, options, checksums
tokenizer.json    the joint byte pair encoding
source.ids        pieces of all source sentences, one after the other, without end-of-sentence symbols
source.offsets    where each sentence begins in source.ids (pairs + 1 numbers)
target.ids, target.offsets
held-out.tsv      the pairs held out of training, in the user's own words
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.config import PrepareConfig
from weft.config_io import from_dict, to_dict
from weft.errors import WeftError
from weft.storage import read_description, write_json
from weft.text.subwords import Subwords

SIDES = ("source", "target")

_FORMAT = "weft prepared corpus 1"
_MANIFEST = "manifest.json"
_REMEDY = "; make it with weft prepare"


@dataclass(frozen=True)
class FileRecord:
    """Size and checksum of a file of a prepared folder."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a prepared folder holds and how it was made."""

    counts: dict[str, int]
    """Pairs: ``read``, ``kept``, and for each reason those that were left out."""
    bad_lines: list[str]
    """The first lines that could not be read, with their problems."""
    pieces: dict[str, int]
    """Of each side."""
    vocabulary: int
    merges: int
    id_type: str
    inputs: dict[str, list[str]]
    """Names of the files that were read: ``files``, ``source``, ``target``."""
    options: PrepareConfig
    files: dict[str, FileRecord]

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder."""
        write_json(folder / _MANIFEST, {"format": _FORMAT, **to_dict(self)})

    @property
    def checksum(self) -> str:
        """The checksum of all files."""
        files = {name: dataclasses.asdict(record) for name, record in self.files.items()}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Side:
    """All sentences of one language."""

    ids: np.ndarray  # (pieces,)
    offsets: np.ndarray  # (pairs + 1,)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Pieces per sentence."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class PreparedCorpus:
    """An opened folder."""

    folder: Path
    manifest: Manifest
    subwords: Subwords
    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source)

    @property
    def config(self) -> PrepareConfig:
        return self.manifest.options

    @property
    def held_out(self) -> Path:
        """The file of the pairs that were held out of training."""
        return self.folder / "held-out.tsv"

    @property
    def checksum(self) -> str:
        """The checksum of all files; checkpoints record it."""
        return self.manifest.checksum


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a prepared folder. Raises WeftError if there is none or it is damaged."""
    path = folder / _MANIFEST
    hints = typing.get_type_hints(Manifest)
    described = read_description(path, _FORMAT, "prepared corpus", _REMEDY, needs=tuple(hints))
    for name, hint in hints.items():
        kind = dict if dataclasses.is_dataclass(hint) else typing.get_origin(hint) or hint
        if not isinstance(described[name], kind):
            raise WeftError(f"{path}: damaged, '{name}' is not of type {kind.__name__}{_REMEDY}")
    members = {name: described[name] for name in hints}
    members["options"] = from_dict(PrepareConfig, described["options"], f"{path}: options")
    try:
        members["files"] = {name: FileRecord(**record) for name, record in described["files"].items()}
    except TypeError:
        raise WeftError(f"{path}: damaged, 'files' has other members{_REMEDY}") from None
    return Manifest(**members)


def open_prepared(folder: Path) -> PreparedCorpus:
    """Open a prepared folder. Raises WeftError if it is damaged; of its files the sizes are checked."""
    manifest = read_manifest(folder)
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != record.bytes:
            raise WeftError(f"{path}: missing or not as weft prepare wrote it; run weft prepare again")
    source, target = (_open_side(folder, side, manifest.id_type) for side in SIDES)
    subwords = Subwords.load(folder / "tokenizer.json", manifest.options.text)
    return PreparedCorpus(folder, manifest, subwords, source, target)


def _open_side(folder: Path, side: str, id_type: str) -> Side:
    return Side(
        ids=np.memmap(folder / f"{side}.ids", dtype=id_type, mode="r"),
        offsets=np.memmap(folder / f"{side}.offsets", dtype="<i8", mode="r"),
    )
