"""Counts of more things than memory holds: they wait in memory, go to disk in sorted runs, and come back in order.

What is counted is known by a number of 64 bits that is made of its words (`keys_of`). Such numbers are spread evenly,
so all runs reach the same number at about the same part of their lengths: they are read side by side.
Two of a billion things have the same number with a probability of 3 %, two of a hundred million with 0.03 %.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from weft.text import record_files
from weft.text.record_files import RecordFile
from weft.text.spelling import Remembered

_HELD_BYTES = 1 << 25  # of records in memory before they go to disk
_MOST_RUNS = 64  # of about the same size, before they become one


def key_of(text: str) -> int:
    """Return the number that a text is known by."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


_remembered_keys = Remembered(key_of)


def keys_of(texts: Iterable[str]) -> np.ndarray:
    """Return the number of each text."""
    return np.fromiter(map(_remembered_keys.__getitem__, texts), np.uint64)


def summed(records: np.ndarray, by: tuple[str, ...]) -> np.ndarray:
    """Return records in the order of the fields ``by``; those that are equal there become one.

    It has the sums of their ``count`` and ``weight``, and all else of the one with the lowest ``example``.
    """
    names = records.dtype.names or ()
    records = records[np.lexsort([records[name] for name in reversed((*by, "example")) if name in names])]
    starts = group_starts(*(records[name] for name in by))
    found = records[starts]
    for name in {"count", "weight"} & set(names):
        found[name] = group_sums(records[name], starts)
    return found


def group_starts(*fields: np.ndarray) -> np.ndarray:
    """Return the places where one of the fields has another value than before, the first place included."""
    is_new = np.ones(len(fields[0]), bool)
    is_new[1:] = np.any([values[1:] != values[:-1] for values in fields], axis=0)
    return np.flatnonzero(is_new)


def group_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sum of the values from each start to the next."""
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


def whole_groups(parts: Iterable[np.ndarray], by: tuple[str, ...]) -> Iterator[np.ndarray]:
    """Yield records cut into other parts, so that those with the same fields ``by`` are in one of them."""
    rest = None
    for part in parts:
        joined = part if rest is None else np.concatenate([rest, part])
        last = group_starts(*(joined[name] for name in by))[-1]
        if last:
            yield joined[:last]
        rest = joined[last:].copy()
    if rest is not None:
        yield rest


class Table:
    """Records of numbers, which are added in any order and read as `summed` returns them."""

    def __init__(self, path: Path, kind: np.dtype, by: tuple[str, ...]) -> None:
        """What memory does not hold goes to files whose names begin with ``path``. The first of ``by`` must be keys."""
        self._path, self._kind, self._by = path, kind, by
        self._held: list[np.ndarray] = []
        self._held_bytes = 0
        self._levels: list[list[RecordFile]] = []  # sorted runs; one of a level was made of many of the level before
        self._made = 0

    def add(self, records: np.ndarray) -> None:
        """Add records."""
        self._held.append(records)
        self._held_bytes += records.nbytes
        if self._held_bytes > _HELD_BYTES:
            self._store_held()

    @property
    def nbytes(self) -> int:
        """What all records take, to measure progress by."""
        return self._held_bytes + sum(run.nbytes for run in self._runs)

    @property
    def _runs(self) -> list[RecordFile]:
        return [run for level in self._levels for run in level]

    def _store_held(self) -> None:
        """Make a run of what is in memory."""
        records = np.concatenate(self._held)
        self._held, self._held_bytes = [], 0
        self._store([summed(records, self._by)], 0)

    def _store(self, parts: Iterable[np.ndarray], level: int) -> None:
        """Make a run of sorted records. If its level then has too many, they become a run of the next."""
        run = RecordFile(self._path.with_name(f"{self._path.name}-{self._made}"), self._kind)
        self._made += 1
        for part in parts:
            run.append(part)
        if level == len(self._levels):
            self._levels.append([])
        runs = self._levels[level]
        runs.append(run)
        if len(runs) == _MOST_RUNS:
            self._store(_merged(runs, self._by), level + 1)
            for run in runs:
                run.remove()
            self._levels[level] = []

    def read(self) -> Iterator[np.ndarray]:
        """Yield all records in order, some at a time."""
        if self._held:
            self._store_held()
        return _merged(self._runs, self._by)


def _merged(runs: Sequence[RecordFile], by: tuple[str, ...]) -> Iterator[np.ndarray]:
    """Yield the records of sorted runs in order, some at a time."""
    if len(runs) == 1:
        yield from runs[0].read()
        return
    total = sum(run.nbytes for run in runs)
    # Each is read in steps that are as large a part of it as those of the others: they end at about the same key.
    most = record_files.READ_BYTES
    readers = [run.read(max(most * run.nbytes // total, most // (8 * len(runs)))) for run in runs]
    heads = [(part, reader) for reader in readers for part in itertools.islice(reader, 1)]
    while heads:
        last = min(tuple(part[-1][list(by)].tolist()) for part, _ in heads)
        ends = [_end_of(part, by, last) for part, _ in heads]
        yield summed(np.concatenate([part[:end] for (part, _), end in zip(heads, ends, strict=True)]), by)
        heads = [
            (rest, reader)
            for (part, reader), end in zip(heads, ends, strict=True)
            for rest in ([part[end:]] if end < len(part) else itertools.islice(reader, 1))
        ]


def _end_of(records: np.ndarray, by: tuple[str, ...], last: tuple[int, ...]) -> int:
    """Return how many records are not after the one whose fields ``by`` are ``last``."""
    first, end = 0, len(records)
    for name, value in zip(by, last, strict=True):
        first = bisect.bisect_left(records[name], value, first, end, key=int)
        end = bisect.bisect_right(records[name], value, first, end, key=int)
    return end
