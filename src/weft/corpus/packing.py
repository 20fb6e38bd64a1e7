"""Pack sentence pairs into rows of one static shape, densely, a shard at a time.

A shard takes blocks of neighbouring pairs from anywhere in the corpus, so every shard is like the whole of it, and yet
reads stay together. Shards are packed one after the other; a corpus that is small enough is one shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from weft.corpus.packed_rows import PackedRows, Shard, has_rows, open_rows, rows_of, save_rows
from weft.corpus.prepared import PreparedCorpus, Side
from weft.errors import WeftError
from weft.progress import Progress

_SHARD_PAIRS = 1 << 21  # packed and shuffled together; packing takes about 100 bytes of memory for each
_BLOCK_PAIRS = 1 << 10  # neighbours in the corpus that are in the same shard
_LANES = 64  # independent packers, stepped together so that numpy does the work
_LANE_PAIRS = 50_000  # of a packer: more pairs get more packers
_OPEN_ROWS = 24  # rows that each packer keeps open

Times = Callable[[int, int], np.ndarray]
"""Tells how often an epoch draws each pair from a first one to below another."""


def once(first: int, end: int) -> np.ndarray:
    """Draw each pair once."""
    return np.ones(end - first, np.int64)


def pack(source: Side, target: Side, row_length: int, seed: int = 1, most: int = 0, times: Times = once) -> PackedRows:
    """Pack all pairs that fit into rows of ``row_length`` tokens on the side that has more, and of fewer on the other.

    The two lengths are in proportion to the sides of the corpus, so that both sides of a row fill up together.
    ``most`` limits the number of pairs, chosen at random (0: all). ``times`` tells how often each pair is packed.
    """
    packer = _Packer.of((source, target), row_length, times)
    return rows_of(packer.sides, packer.lengths, packer.shards(seed, most))


def packed_corpus(
    corpus: PreparedCorpus, row_length: int, seed: int, most: int, folder: Path, progress: Progress
) -> PackedRows:
    """Open the rows of a prepared corpus in a folder; pack them into it first if they are not there."""
    described = {"corpus": corpus.checksum, "row_length": row_length, "seed": seed, "most": most}
    sides = corpus.source, corpus.target
    if not has_rows(folder, described):
        packer = _Packer.of(sides, row_length, partial(corpus.times, seed))

        def shards() -> Iterator[Shard]:
            progress.phase("packing", min(most or packer.pairs, packer.pairs), "pairs")
            for shard in packer.shards(seed, most):
                progress.advance(len(shard.pairs))
                yield shard

        save_rows(folder, described, packer.lengths, shards())
    return open_rows(folder, sides)


@dataclass(frozen=True)
class _Packer:
    """Packs the pairs of a corpus."""

    sides: tuple[Side, Side]
    row_length: int
    lengths: tuple[int, int]
    """Places of a row on each side."""
    times: Times
    units: np.ndarray  # (units, 3): a block, a number of times, how many of its pairs are drawn more often than that

    @classmethod
    def of(cls, sides: tuple[Side, Side], row_length: int, times: Times) -> _Packer:
        """Go through a corpus once, to measure it."""
        tokens = np.zeros(2, np.int64)
        units = [np.empty((0, 3), np.int64)]
        pairs = len(sides[0])
        for block, first in enumerate(range(0, pairs, _BLOCK_PAIRS)):
            end = min(first + _BLOCK_PAIRS, pairs)
            drawn = times(first, end)
            tokens += drawn @ _lengths(sides, np.arange(first, end))
            copies = np.arange(drawn.max())
            units.append(np.stack([np.full_like(copies, block), copies, (drawn > copies[:, None]).sum(1)], axis=1))
        room = np.ceil(row_length * tokens / tokens.max() / 8).astype(np.int64) * 8
        source, target = np.minimum(row_length, room).tolist()
        return cls(sides, row_length, (source, target), times, np.concatenate(units))

    @property
    def pairs(self) -> int:
        """How many an epoch draws."""
        return int(self.units[:, 2].sum())

    def shards(self, seed: int, most: int) -> Iterator[Shard]:
        """Pack so many pairs (0: all), a shard at a time. Raises WeftError if none fits into a row."""
        total = self.pairs
        parts = _split(np.random.default_rng([seed, total]).permutation(len(self.units)), total)
        ends = np.cumsum([self.units[part, 2].sum() for part in parts])
        quotas = np.diff(most * ends // total, prepend=0) if most else np.full(len(parts), total)
        packed = 0
        for numbers in _split(np.arange(len(parts)), min(most or total, total)):
            drawn = [self._draw(parts[number], int(number), seed, int(quotas[number])) for number in numbers]
            shard = self._pack(np.concatenate([pairs for pairs, _ in drawn]), sum(left_out for _, left_out in drawn))
            packed += len(shard.pairs)
            yield shard
        if not packed:
            raise WeftError(f"no sentence pair fits into a row of {self.row_length} tokens; raise row_length")

    def _draw(self, part: np.ndarray, number: int, seed: int, quota: int) -> tuple[np.ndarray, int]:
        """Return pairs of some units in a random order, at most so many, and the number of those that do not fit."""
        found = []
        for block, copy, _ in self.units[part].tolist():
            first = block * _BLOCK_PAIRS
            drawn = self.times(first, min(first + _BLOCK_PAIRS, len(self.sides[0])))
            found.append(first + np.flatnonzero(drawn > copy))
        pairs = np.sort(np.concatenate(found))
        fits = pairs[(_lengths(self.sides, pairs) <= self.lengths).all(axis=1)]
        # of the first part as of a corpus of one part always: a zero more to begin from begins the same sequence
        return np.random.default_rng([seed, number]).permutation(fits)[:quota], len(pairs) - len(fits)

    def _pack(self, pairs: np.ndarray, left_out: int) -> Shard:
        lengths = _lengths(self.sides, pairs)
        rows, starts = assign_rows(lengths, np.array(self.lengths))
        by_place = np.argsort(rows * self.row_length + starts[:, 0])
        counts = np.bincount(rows)
        return Shard(pairs[by_place], np.cumsum(counts) - counts, lengths.sum(axis=0), left_out)


def _split(numbers: np.ndarray, pairs: int) -> list[np.ndarray]:
    """Split what has so many pairs into equal parts, each of about a shard at most."""
    return np.array_split(numbers, max(1, -(-pairs // _SHARD_PAIRS)))


def _lengths(sides: tuple[Side, Side], pairs: np.ndarray) -> np.ndarray:
    """Return the tokens of pairs, end-of-sentence symbols included. (pairs, 2)"""
    return np.stack([side.offsets[pairs + 1] - side.offsets[pairs] for side in sides], axis=1) + 1


def assign_rows(lengths: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign pairs to rows by best fit. Returns the row of each pair, and where its two sides start in it.

    ``lengths`` is (pairs, 2), ``room`` the length of a row on each side. Each of some independent packers has a few
    open rows, puts a pair into the fullest one that still has room on both sides, and replaces its fullest row
    by a new one if there is none.
    """
    pairs = len(lengths)
    lanes = max(1, min(max(_LANES, pairs // _LANE_PAIRS), pairs // (20 * _OPEN_ROWS)))
    left = np.empty((2, lanes, _OPEN_ROWS), np.int32)  # room in each open row; the two sides one after the other
    left[:] = room[:, None, None]
    row_of_slot = np.arange(lanes * _OPEN_ROWS).reshape(lanes, _OPEN_ROWS)
    next_row = row_of_slot.size
    rows, starts = np.empty(pairs, np.int64), np.empty((pairs, 2), np.int64)
    wanted_of_side = np.ascontiguousarray(lengths.T, np.int32)
    full_row = np.int32(room.max() + 1)
    lane = np.arange(lanes)
    for first in range(0, pairs, lanes):
        wanted = wanted_of_side[:, first : first + lanes]  # (2, lanes): one pair for each packer
        if wanted.shape[1] < lanes:  # the last pairs
            lane, left = lane[: wanted.shape[1]], left[:, : wanted.shape[1]]
        least = np.minimum(left[0], left[1])  # (lanes, open rows); the fullest row has the least
        fits = (left[0] >= wanted[0, :, None]) & (left[1] >= wanted[1, :, None])
        best = np.where(fits, least, full_row).argmin(axis=1)
        full = np.flatnonzero(~fits[lane, best])  # packers without room: close their fullest row
        if len(full):
            best[full] = least[full].argmin(axis=1)
            left[:, full, best[full]] = room[:, None]
            row_of_slot[full, best[full]] = np.arange(next_row, next_row + len(full))
            next_row += len(full)
        rows[first : first + lanes] = row_of_slot[lane, best]
        chosen = left[:, lane, best]  # (2, lanes)
        starts[first : first + lanes] = (room[:, None] - chosen).T
        left[:, lane, best] = chosen - wanted
    used = np.zeros(next_row, bool)
    used[rows] = True
    return (np.cumsum(used) - 1)[rows], starts  # rows that were never used disappear
