"""The order in which training sees the rows of a corpus.

An epoch goes through all shards in a random order, and through the rows of each in a random order. So the batch of
update k is a pure function of the seed and k: nothing about data has to be saved to resume, and any number of processes
can take their share of the same batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weft.corpus.packed_rows import PackedRows


@dataclass(frozen=True)
class RowOrder:
    """The rows of each update's batch, over all epochs and for one of several processes."""

    shards: tuple[int, ...]
    """The first row of each, and the number of all rows."""
    batch_rows: int
    """Over all processes."""
    seed: int
    rank: int = 0
    world: int = 1

    @classmethod
    def for_budget(cls, packed: PackedRows, target_tokens: int, seed: int, rank: int = 0, world: int = 1) -> RowOrder:
        """Make batches of ``target_tokens`` tokens on average, without padding, in equal parts for all processes."""
        per_row = packed.target_tokens / len(packed)
        share = max(1, round(target_tokens / per_row / world))
        return cls(tuple(packed.shards.tolist()), share * world, seed, rank, world)

    @property
    def rows(self) -> int:
        return self.shards[-1]

    @property
    def share(self) -> int:
        """Rows of a batch for each process."""
        return self.batch_rows // self.world

    def batch(self, update: int) -> np.ndarray:
        """Return the rows of this process in the batch of an update (counted from 0)."""
        place = update * self.batch_rows + self.rank * self.share
        chosen = np.empty(self.share, np.int64)
        filled = 0
        while filled < self.share:  # from the shard that the place is in; seldom from more than one
            epoch, within = divmod(place + filled, self.rows)
            order, begins = _shuffled_shards(self.seed, epoch, self.shards)
            number = int(np.searchsorted(begins, within, side="right")) - 1
            shard = int(order[number])
            first = self.shards[shard]
            rows = _shuffled_rows(self.seed, epoch, shard, self.shards[shard + 1] - first)[within - begins[number] :]
            rows = rows[: self.share - filled]
            chosen[filled : filled + len(rows)] = first + rows
            filled += len(rows)
        return chosen


# The first shard of an epoch is shuffled as a corpus of one shard always was: numbers to begin from that differ by a
# zero at the end begin the same sequence.


@lru_cache(maxsize=4)
def _shuffled_shards(seed: int, epoch: int, shards: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of an epoch's shards, and the place in the epoch where each begins."""
    order = np.random.default_rng([seed, epoch, len(shards)]).permutation(len(shards) - 1)
    sizes = np.diff(shards)[order]
    return order, np.cumsum(sizes) - sizes


@lru_cache(maxsize=4)
def _shuffled_rows(seed: int, epoch: int, shard: int, rows: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch, shard]).permutation(rows)
