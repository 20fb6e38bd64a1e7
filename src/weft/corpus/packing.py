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
_LANE_PAIRS = 50_000  # of a packer: more pairs get more packers
_OPEN_ROWS = 24  # rows that each packer keeps open
_FILLED_AT_ONCE = 20_000  # pairs whose pieces are written into rows together: what a processor's caches hold


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

    def both_ways(self) -> PackedRows:
        """Return the rows for both directions of translation: these, and then the swapped ones."""
        length = max(self.source.shape[1], self.target.shape[1])
        source, target = (np.pad(side, ((0, 0), (0, length - side.shape[1]))) for side in (self.source, self.target))
        return PackedRows(
            np.concatenate([source, target]),
            np.concatenate([target, source]),
            np.concatenate([self.pairs, self.pairs]),
            np.concatenate([self.row_of_pair, self.row_of_pair + len(self)]),
            np.concatenate([self.starts, self.starts[:, ::-1]]),
            2 * self.left_out,
        )

    @property
    def target_tokens(self) -> int:
        """The number of target tokens without padding, end-of-sentence symbols included."""
        return int((self.target != PAD).sum())

    @property
    def padding(self) -> float:
        """The share of target positions that holds no token."""
        return 1 - self.target_tokens / self.target.size


def pack(
    source: Side, target: Side, row_length: int, seed: int = 1, most: int = 0, draws: np.ndarray | None = None
) -> PackedRows:
    """Pack all pairs that fit into rows of ``row_length`` tokens on the side that has more, and of fewer on the other.

    The two lengths are in proportion to the sides of the corpus, so that both sides of a row fill up together.
    ``most`` limits the number of pairs, chosen at random (0: all). ``draws`` are the numbers of the pairs to pack, some
    of them several times (None: each once).
    """
    lengths = np.stack([source.lengths, target.lengths], axis=1) + 1  # (pairs, 2), with end-of-sentence
    if draws is None:
        draws = np.arange(len(source))
    sizes = lengths[draws].sum(axis=0)
    room = np.minimum(row_length, np.ceil(row_length * sizes / sizes.max() / 8).astype(np.int64) * 8)  # (2,)
    fits = draws[(lengths <= room).all(axis=1)[draws]]
    if len(fits) == 0:
        raise WeftError(f"no sentence pair fits into a row of {row_length} tokens; raise row_length")
    order = np.random.default_rng(seed).permutation(fits)[: most or None]
    row_of_pair, starts = assign_rows(lengths[order], room)
    rows = int(row_of_pair.max()) + 1
    source_rows, target_rows = (
        _fill(side, order, row_of_pair * length + starts[:, column], rows * length).reshape(rows, length)
        for column, (side, length) in enumerate(zip((source, target), room.tolist(), strict=True))
    )
    by_place = np.argsort(row_of_pair * row_length + starts[:, 0])
    return PackedRows(
        source_rows, target_rows, order[by_place], row_of_pair[by_place], starts[by_place], len(draws) - len(fits)
    )


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


def _fill(side: Side, order: np.ndarray, positions: np.ndarray, size: int) -> np.ndarray:
    """Write the sentences ``order`` of a side, each followed by END, to ``positions`` of a row of ``size`` PADs."""
    ids = np.asarray(side.ids)
    begins, all_lengths = np.asarray(side.offsets[:-1]), side.lengths
    packed = np.full(size, PAD, ids.dtype)
    for first in range(0, len(order), _FILLED_AT_ONCE):
        some, places = order[first : first + _FILLED_AT_ONCE], positions[first : first + _FILLED_AT_ONCE]
        lengths = all_lengths[some]
        counted = np.cumsum(lengths) - lengths  # pieces of the sentences before
        pieces = np.arange(lengths.sum())
        packed[pieces + np.repeat(places - counted, lengths)] = ids[pieces + np.repeat(begins[some] - counted, lengths)]
        packed[places + lengths] = END
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
