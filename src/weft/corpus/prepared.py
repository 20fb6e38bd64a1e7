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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.config import CorpusConfig, PrepareConfig
from weft.config_io import from_dict, to_dict
from weft.errors import WeftError
from weft.storage import read_description, write_json
from weft.text.subwords import Subwords

SIDES = ("source", "target")

_FORMAT = "weft prepared corpus 2"
_MANIFEST = "manifest.json"
_REMEDY = "; make it with weft prepare"


@dataclass(frozen=True)
class FileRecord:
    """Size and checksum of a file of a prepared folder."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class CorpusRecord:
    """One of the corpora in a prepared folder; its pairs follow those of the one before."""

    text: CorpusConfig
    """Where it comes from; without files: pairs made of those of other corpora."""
    pairs: int
    counts: dict[str, int]
    """Pairs: ``read``, ``kept``, and for each reason those that were left out."""


def draw_counts(corpora: Sequence[CorpusRecord], temperature: float, seed: int, first: int, end: int) -> np.ndarray:
    """Return how often an epoch draws the pairs ``first`` to below ``end`` of some corpora. (pairs,)

    The rate of a corpus is its copies: 2.4 draws all of its pairs twice and a random choice of them a third time.
    """
    counts = np.zeros(end - first, np.int64)
    begin = 0  # of a corpus
    for number, (corpus, rate) in enumerate(zip(corpora, draw_rates(corpora, temperature), strict=True)):
        low, high = max(first, begin), min(end, begin + corpus.pairs)
        if low < high:
            numbers = np.random.Generator(np.random.PCG64([seed, number]).advance(low - begin))  # one for each pair
            counts[low - first : high - first] = int(rate) + (numbers.random(high - low) < rate % 1)
        begin += corpus.pairs
    return counts


def draw_rates(corpora: Sequence[CorpusRecord], temperature: float) -> list[float]:
    """Return how often an epoch draws the pairs of each corpus; the lowest rate is 1."""
    most = max(corpus.pairs for corpus in corpora)
    return [(most / corpus.pairs) ** (1 - 1 / temperature) for corpus in corpora]


@dataclass(frozen=True)
class Manifest:
    """What a prepared folder holds and how it was made."""

    corpora: list[CorpusRecord]
    bad_lines: list[str]
    """The first lines that could not be read, with their problems."""
    pieces: dict[str, int]
    """Of each side."""
    vocabulary: int
    merges: int
    id_type: str
    options: PrepareConfig
    files: dict[str, FileRecord]

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder."""
        write_json(folder / _MANIFEST, {"format": _FORMAT, **to_dict(self)})

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all corpora together."""
        total: Counter[str] = Counter()
        for corpus in self.corpora:
            total.update(corpus.counts)
        return dict(total)

    @property
    def inputs(self) -> tuple[CorpusConfig, ...]:
        """Where the text comes from."""
        return tuple(corpus.text for corpus in self.corpora if corpus.text.files or corpus.text.source)

    @property
    def checksum(self) -> str:
        """The checksum of all that training sees: the files, and how often it draws the pairs of each corpus."""
        seen: dict[str, Any] = {name: dataclasses.asdict(record) for name, record in self.files.items()}
        if len(self.corpora) > 1 and self.options.temperature != 1:
            seen["drawn"] = [self.options.temperature, *(corpus.pairs for corpus in self.corpora)]
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


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


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """An opened folder. No two are equal."""

    folder: Path
    manifest: Manifest
    subwords: Subwords
    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source)

    def times(self, seed: int, first: int, end: int) -> np.ndarray:
        """Return how often an epoch draws the pairs ``first`` to below ``end``; those of small corpora often."""
        return draw_counts(self.manifest.corpora, self.config.temperature, seed, first, end)

    @property
    def config(self) -> PrepareConfig:
        return self.manifest.options

    @property
    def held_out(self) -> Path:
        """The file of the pairs that were held out of training."""
        return self.folder / "held-out.tsv"

    @property
    def checksum(self) -> str:
        """The checksum of all that training sees; checkpoints record it."""
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
        members["corpora"] = [
            CorpusRecord(**record | {"text": from_dict(CorpusConfig, record["text"], f"{path}: corpora")})
            for record in described["corpora"]
        ]
    except (TypeError, KeyError):
        raise WeftError(f"{path}: damaged, 'files' or 'corpora' has other members{_REMEDY}") from None
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
        ids=mapped(folder / f"{side}.ids", id_type),
        offsets=mapped(folder / f"{side}.offsets", "<i8"),
    )


def mapped(path: Path, kind: str | np.dtype) -> np.ndarray:
    """Return the numbers in a file, which are read when they are used. (numbers,)"""
    if not path.stat().st_size:  # which cannot be mapped
        return np.empty(0, kind)
    return np.asarray(np.memmap(path, kind, "r"))  # indexing is slower with the class of memory maps


def left_out(counts: Mapping[str, int]) -> str:
    """Return how many pairs were left out, and why."""
    reasons = [(name, count) for name, count in counts.items() if name not in {"read", "kept"} and count]
    return ", ".join(f"{count:,} {name}" for name, count in reasons)


def report(corpus: PreparedCorpus) -> str:
    """Return lines that say what was prepared and what was left out."""
    manifest = corpus.manifest
    counts, bad_lines = manifest.counts, manifest.bad_lines
    sizes = " / ".join(f"{manifest.pieces[side]:,}" for side in SIDES)
    made = f" and {len(corpus) - counts['kept']:,} by way of English" if len(corpus) > counts["kept"] else ""
    lines = [
        f"{corpus.folder}: {counts['kept']:,} of {counts['read']:,} pairs{made}, {sizes} pieces, "
        f"vocabulary of {manifest.vocabulary:,} ({manifest.merges:,} merges)"
    ]
    if reasons := left_out(counts):
        lines.append(f"left out: {reasons}")
    if len(manifest.corpora) > 1:
        rates = draw_rates(manifest.corpora, manifest.options.temperature)
        for record, rate in zip(manifest.corpora, rates, strict=True):
            lines.append(f"{record.text.name}: {record.pairs:,} pairs, each drawn {rate:.2f} times an epoch")
    lines += [f"bad line {line}" for line in bad_lines]
    if counts.get("bad", 0) > len(bad_lines):
        lines.append(f"… and {counts['bad'] - len(bad_lines):,} more bad lines")
    return "\n".join(lines)
