"""Sentence pairs packed into rows of one static shape, and the order in which training sees the rows.

A row holds whole sentence pairs, each side as ``pieces </s> pieces </s> <pad> …``; the k-th sentence of a source row
belongs to the k-th of the target row. Rows are packed once. An epoch is a shuffle of the rows, so the batch of update k
is a pure function of the seed and k: nothing about data has to be saved to resume, and any number of processes can take
their share of the same batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weft.corpus.prepared import Side
from weft.errors import WeftError
from weft.text.subwords import END, PAD

_LANES = 64  # independent packers, stepped together so that numpy does the work
_OPEN_ROWS = 24  # rows that each packer keeps open


@dataclass(frozen=True)
class PackedRows:
    """A corpus in rows."""

    source: np.ndarray  # (rows, source length) ids
    target: np.ndarray  # (rows, target length) ids
    pairs: np.ndarray  # (packed pairs,) numbers in the corpus, in the order of rows and of sentences in a row
    row_of_pair: np.ndarray  # (packed pairs,)
    starts: np.ndarray  # (packed pairs, 2): where the source and the target sentence begin in their rows
    left_out: int  # pairs longer than a row

    def __len__(self) -> int:
        return len(self.source)

    def swapped(self) -> PackedRows:
        """Return the rows for the opposite direction of translation."""
        return PackedRows(self.target, self.source, self.pairs, self.row_of_pair, self.starts[:, ::-1], self.left_out)

    @property
    def target_tokens(self) -> int:
        """The number of target tokens without padding, end-of-sentence symbols included."""
        return int((self.target != PAD).sum())

    @property
    def padding(self) -> float:
        """The share of target positions that holds no token."""
        return 1 - self.target_tokens / self.target.size


def pack(source: Side, target: Side, row_length: int, seed: int = 1, most: int = 0) -> PackedRows:
    """Pack all pairs that fit into rows of ``row_length`` tokens on the side that has more, and of fewer on the other.

    The two lengths are in proportion to the sides of the corpus, so that both sides of a row fill up together.
    ``most`` limits the number of pairs, chosen at random (0: all).
    """
    lengths = np.stack([source.lengths, target.lengths], axis=1) + 1  # (pairs, 2), with end-of-sentence
    sizes = lengths.sum(axis=0)
    room = np.minimum(row_length, np.ceil(row_length * sizes / sizes.max() / 8).astype(np.int64) * 8)  # (2,)
    fits = np.flatnonzero((lengths <= room).all(axis=1))
    if len(fits) == 0:
        raise WeftError(f"no sentence pair fits into a row of {row_length} tokens; raise row_length")
    order = np.random.default_rng(seed).permutation(fits)[: most or None]
    row_of_pair, starts = assign_rows(lengths[order], room)
    rows = int(row_of_pair.max()) + 1
    source_rows, target_rows = (
        _fill(side, order, row_of_pair * length + starts[:, column], rows * length).reshape(rows, length)
        for column, (side, length) in enumerate(zip((source, target), room.tolist(), strict=True))
    )
    by_place = np.lexsort((starts[:, 0], row_of_pair))
    return PackedRows(
        source_rows, target_rows, order[by_place], row_of_pair[by_place], starts[by_place], len(source) - len(fits)
    )


def assign_rows(lengths: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Assign pairs to rows by best fit. Returns the row of each pair, and where its two sides start in it.

    ``lengths`` is (pairs, 2), ``room`` the length of a row on each side. Each of some independent packers has a few
    open rows, puts a pair into the fullest one that still has room on both sides, and replaces its fullest row
    by a new one if there is none.
    """
    pairs = len(lengths)
    lanes = max(1, min(_LANES, pairs // (20 * _OPEN_ROWS)))
    used = np.zeros((lanes, _OPEN_ROWS, 2), np.int64)  # tokens in each open row
    row_of_slot = np.arange(lanes * _OPEN_ROWS).reshape(lanes, _OPEN_ROWS)
    next_row = row_of_slot.size
    rows, starts = np.empty(pairs, np.int64), np.empty((pairs, 2), np.int64)
    for first in range(0, pairs, lanes):
        wanted = lengths[first : first + lanes]  # (lanes, 2): one pair for each packer
        lane = np.arange(len(wanted))
        fullness = (used[: len(wanted)] + room.max() - room).max(axis=2)  # (lanes, open rows)
        fits = np.logical_and.reduce(used[: len(wanted)] + wanted[:, None] <= room, axis=2)
        best = np.where(fits, fullness, -1).argmax(axis=1)
        full = np.flatnonzero(~fits.any(axis=1))  # packers without room: close their fullest row
        if len(full):
            best[full] = fullness[full].argmax(axis=1)
            used[full, best[full]] = 0
            row_of_slot[full, best[full]] = np.arange(next_row, next_row + len(full))
            next_row += len(full)
        rows[first : first + lanes] = row_of_slot[lane, best]
        starts[first : first + lanes] = used[lane, best]
        used[lane, best] += wanted
    return np.unique(rows, return_inverse=True)[1], starts  # rows that were never used disappear


def _fill(side: Side, order: np.ndarray, positions: np.ndarray, size: int) -> np.ndarray:
    """Write the sentences ``order`` of a side, each followed by END, to ``positions`` of a row of ``size`` PADs."""
    ids = np.asarray(side.ids)
    lengths = side.lengths[order]
    packed = np.full(size, PAD, ids.dtype)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # 0, 1, … in each sentence
    packed[np.repeat(positions, lengths) + within] = ids[np.repeat(side.offsets[:-1][order], lengths) + within]
    packed[positions + lengths] = END
    return packed


@dataclass(frozen=True)
class RowOrder:
    """The rows of each update's batch, over all epochs and for one of several processes."""

    rows: int
    batch_rows: int  # over all processes
    seed: int
    rank: int = 0
    world: int = 1

    @classmethod
    def for_budget(cls, packed: PackedRows, target_tokens: int, seed: int, rank: int = 0, world: int = 1) -> RowOrder:
        """Make batches of ``target_tokens`` tokens on average, without padding, in equal parts for all processes."""
        per_row = packed.target_tokens / len(packed)
        share = max(1, round(target_tokens / per_row / world))
        return cls(len(packed), share * world, seed, rank, world)

    def batch(self, update: int) -> np.ndarray:
        """Return the rows of this process in the batch of an update (counted from 0)."""
        share = self.batch_rows // self.world
        first = update * self.batch_rows + self.rank * share
        places = np.arange(first, first + share)
        epochs = places // self.rows
        chosen = np.empty(share, np.int64)
        for epoch in np.unique(epochs):
            inside = epochs == epoch
            chosen[inside] = _shuffle(self.seed, int(epoch), self.rows)[places[inside] % self.rows]
        return chosen


@lru_cache(maxsize=4)
def _shuffle(seed: int, epoch: int, rows: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(rows)
