"""A corpus in rows of one static shape: which sentence pairs are in which row, in memory or in a folder.

A row holds whole sentence pairs, each side as ``pieces </s> pieces </s> <pad> …``; the k-th sentence of a source row
belongs to the k-th of the target row. Rows are numbers of pairs; their pieces are read from the corpus when rows are
taken, so that of a corpus larger than memory no more is read than training asks for. Rows come in shards: those of a
shard read the same parts of the corpus, and training goes through one shard after the other.

manifest.json   what was packed, the shape of the rows, counts, shards
pairs           numbers of the pairs, in the order of rows and of sentences in a row
begins          where each row begins in pairs (rows + 1 numbers)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from weft.corpus.prepared import Side, mapped
from weft.errors import WeftError
from weft.storage import atomic_folder, read_description, write_json
from weft.text.subwords import END, PAD

_FORMAT = "weft packed rows 1"
_MANIFEST = "manifest.json"
_REMEDY = "; remove the folder to pack the corpus again"


class Shard(NamedTuple):
    """Rows that are packed together."""

    pairs: np.ndarray  # (packed pairs,) numbers in the corpus, in the order of rows and of sentences in a row
    begins: np.ndarray  # (rows,) where each row begins in them
    tokens: np.ndarray  # (2,) of the source and the target, end-of-sentence symbols included
    left_out: int  # pairs longer than a row


@dataclass(frozen=True)
class PackedRows:
    """A corpus in rows."""

    sides: tuple[Side, Side]
    lengths: tuple[int, int]
    """Places of a row on each side."""
    pairs: np.ndarray  # (packed pairs,) numbers in the corpus, in the order of rows and of sentences in a row
    begins: np.ndarray  # (rows + 1,) where each row begins in them
    shards: np.ndarray  # (shards + 1,) the first row of each
    tokens: tuple[int, int]
    """Without padding, end-of-sentence symbols included."""
    left_out: int
    """Pairs longer than a row."""
    two_ways: bool = False
    """Whether each shard has its rows a second time, with their sides exchanged."""

    def __len__(self) -> int:
        return int(self.shards[-1])

    def swapped(self) -> PackedRows:
        """Return the rows for the opposite direction of translation."""
        sides, lengths, tokens = self.sides[::-1], self.lengths[::-1], self.tokens[::-1]
        return dataclasses.replace(self, sides=sides, lengths=lengths, tokens=tokens)

    def both_ways(self) -> PackedRows:
        """Return the rows for both directions of translation: those of a shard, and then the same swapped."""
        return dataclasses.replace(
            self,
            lengths=(max(self.lengths),) * 2,
            shards=2 * self.shards,
            tokens=(sum(self.tokens),) * 2,
            left_out=2 * self.left_out,
            two_ways=True,
        )

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of some rows: (rows, source length) and (rows, target length)."""
        swapped = np.zeros(len(rows), bool)
        if self.two_ways:
            shard = np.searchsorted(self.shards, rows, side="right") - 1
            within, half = rows - self.shards[shard], (self.shards[shard + 1] - self.shards[shard]) // 2
            swapped = within >= half
            rows = self.shards[shard] // 2 + within - half * swapped
        firsts, counts = self.begins[rows], self.begins[rows + 1] - self.begins[rows]
        pairs = self.pairs[stretches(firsts, counts)]
        row = np.repeat(np.arange(len(rows)), counts)
        both = zip(self.sides, self.lengths, strict=True)
        source, target = (_fill(side, pairs, row, len(rows), length) for side, length in both)
        if swapped.any():
            source[swapped], target[swapped] = target[swapped], source[swapped]
        return source, target

    @property
    def target_tokens(self) -> int:
        """The number of target tokens without padding, end-of-sentence symbols included."""
        return self.tokens[1]

    @property
    def padding(self) -> float:
        """The share of target positions that holds no token."""
        return 1 - self.target_tokens / (len(self) * self.lengths[1])


def stretches(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return ``first, first + 1, …``, so many numbers for each first one, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(firsts - (ends - counts), counts)


def _fill(side: Side, pairs: np.ndarray, row: np.ndarray, rows: int, length: int) -> np.ndarray:
    """Write sentences of a side, each followed by END, into rows of PADs; ``row`` is that of each, and rising.

    int32: the smallest type that torch can index with, gather from and compare on every device.
    """
    firsts = side.offsets[pairs]
    tokens = side.offsets[pairs + 1] - firsts + 1
    content = side.ids.take(stretches(firsts, tokens), mode="clip")  # each with one piece too many, for END
    content[np.cumsum(tokens) - 1] = END
    filled = np.full((rows, length), PAD, np.int32)
    filled[np.arange(length) < np.bincount(row, tokens, rows)[:, None]] = content
    return filled


def rows_of(sides: tuple[Side, Side], lengths: tuple[int, int], shards: Iterable[Shard]) -> PackedRows:
    """Put shards together in memory."""
    found = list(shards)
    firsts = np.cumsum([0, *(len(shard.pairs) for shard in found)])
    begins = [shard.begins + first for shard, first in zip(found, firsts[:-1], strict=True)]
    return PackedRows(
        sides,
        lengths,
        np.concatenate([shard.pairs for shard in found]),
        np.append(np.concatenate(begins), firsts[-1]),
        np.cumsum([0, *(len(shard.begins) for shard in found)]),
        _pair(sum(shard.tokens for shard in found)),
        sum(shard.left_out for shard in found),
    )


def _pair(numbers: Any) -> tuple[int, int]:
    source, target = numbers
    return int(source), int(target)


def save_rows(folder: Path, packed: dict[str, Any], lengths: tuple[int, int], shards: Iterable[Shard]) -> None:
    """Write shards into a folder, one after the other; ``packed`` says what is packed."""
    with atomic_folder(folder) as partial:
        firsts, tokens, left_out, pairs = [0], np.zeros(2, np.int64), 0, 0
        with (partial / "pairs").open("wb") as pairs_file, (partial / "begins").open("wb") as begins_file:
            for shard in shards:
                pairs_file.write(shard.pairs.astype("<i8").data)
                begins_file.write((shard.begins + pairs).astype("<i8").data)
                firsts.append(firsts[-1] + len(shard.begins))
                tokens, left_out, pairs = tokens + shard.tokens, left_out + shard.left_out, pairs + len(shard.pairs)
            begins_file.write(np.array([pairs], "<i8").data)
        described = {"lengths": lengths, "tokens": tokens.tolist(), "left_out": left_out, "shards": firsts}
        write_json(partial / _MANIFEST, {"format": _FORMAT, "packed": packed, **described, "pairs": pairs}, indent=None)


def has_rows(folder: Path, packed: dict[str, Any]) -> bool:
    """Tell whether a folder has the rows of ``packed``. Raises WeftError if there is something else in it."""
    return folder.exists() and _manifest(folder)["packed"] == packed


def open_rows(folder: Path, sides: tuple[Side, Side]) -> PackedRows:
    """Open the rows in a folder. Raises WeftError if they are damaged."""
    manifest = _manifest(folder)
    for name, size in (("pairs", manifest["pairs"]), ("begins", manifest["shards"][-1] + 1)):
        if not (folder / name).is_file() or (folder / name).stat().st_size != 8 * size:
            raise WeftError(f"{folder / name}: not as it was written{_REMEDY}")
    return PackedRows(
        sides,
        _pair(manifest["lengths"]),
        mapped(folder / "pairs", "<i8"),
        mapped(folder / "begins", "<i8"),
        np.array(manifest["shards"]),
        _pair(manifest["tokens"]),
        manifest["left_out"],
    )


def _manifest(folder: Path) -> dict[str, Any]:
    needs = ("packed", "lengths", "tokens", "left_out", "shards", "pairs")
    return read_description(folder / _MANIFEST, _FORMAT, "folder of packed rows", _REMEDY, needs)
