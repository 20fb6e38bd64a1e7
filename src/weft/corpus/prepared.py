"""A corpus on disk as memory-mapped ids: made once by ``weft prepare``, opened at once, whatever its size.

manifest.json     counts, options, checksums; written last, so a folder that has one is complete
tokenizer.json    the joint byte pair encoding
source.ids        pieces of all source sentences, one after the other, without end-of-sentence symbols
source.offsets    where each sentence begins in source.ids (pairs + 1 numbers)
target.ids, target.offsets
held-out.tsv      the pairs held out of training, in the user's own words
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.config import PrepareConfig
from weft.config_io import from_dict
from weft.errors import WeftError
from weft.storage import checksum_of, read_description
from weft.text.subwords import Subwords

FORMAT = "weft prepared corpus 1"
MANIFEST = "manifest.json"
SIDES = ("source", "target")


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
    manifest: dict[str, Any]
    config: PrepareConfig
    subwords: Subwords
    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source)

    @property
    def held_out(self) -> Path:
        return self.folder / "held-out.tsv"

    @property
    def checksum(self) -> str:
        """Stands for the whole content: checkpoints record it."""
        return hashlib.sha256(json.dumps(self.manifest["files"], sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a complete folder."""
    return read_description(folder / MANIFEST, FORMAT, "prepared corpus", "; make it with weft prepare")


def open_prepared(folder: Path, verify: bool = False) -> PreparedCorpus:
    """Open a prepared folder; sizes are always checked, checksums where ``verify`` says so (it reads everything)."""
    manifest = read_manifest(folder)
    for name, recorded in manifest["files"].items():
        path = folder / name
        size = path.stat().st_size if path.is_file() else -1
        if size != recorded["bytes"] or (verify and checksum_of(path) != recorded["sha256"]):
            raise WeftError(f"{path}: missing or not as weft prepare wrote it; run weft prepare again")
    config = from_dict(PrepareConfig, manifest["options"], f"{folder / MANIFEST}: options")
    sides = [_open_side(folder, side, manifest["id_type"]) for side in SIDES]
    subwords = Subwords.load(folder / "tokenizer.json", config.text)
    return PreparedCorpus(folder, manifest, config, subwords, *sides)


def _open_side(folder: Path, side: str, id_type: str) -> Side:
    return Side(
        ids=np.memmap(folder / f"{side}.ids", dtype=id_type, mode="r"),
        offsets=np.memmap(folder / f"{side}.offsets", dtype="<i8", mode="r"),
    )
