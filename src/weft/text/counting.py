"""Counts of more things than memory holds: they wait in memory, go to disk in sorted runs, and come back in order.

What is counted is known by a number of 64 bits that is made of its words (`keys_of`). Such numbers are spread evenly,
so a range of them is as large as any other of the same width: runs are read side by side, a range at a time.
Two of a billion things have the same number with a probability of 3 %, two of a hundred million with 0.03 %.
"""

from __future__ import annotations

import bisect
import hashlib
import heapq
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from weft.text.spelling import Remembered

_HELD_BYTES = 1 << 27  # of records or lines in memory before they go to disk
_READ_BYTES = 1 << 26  # of records that are read at a time
_LINE_BYTES = 150  # that a line takes in memory beside its characters
_MOST_RUNS = 100  # files that are open at a time


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
    order = np.lexsort([records[name] for name in reversed((*by, "example")) if name in names])
    ordered = records[order]
    starts = group_starts(*(ordered[name] for name in by))
    found = ordered[starts]
    for name in {"count", "weight"} & set(names):
        found[name] = group_sums(ordered[name], starts)
    return found


def group_starts(*fields: np.ndarray) -> np.ndarray:
    """Return the places where one of the fields has another value than before, the first place included."""
    is_new = np.ones(len(fields[0]), bool)
    is_new[1:] = np.any([values[1:] != values[:-1] for values in fields], axis=0)
    return np.flatnonzero(is_new)


def group_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sum of the values from each start to the next."""
    return np.add.reduceat(values, starts) if len(starts) else values[:0]


class Table:
    """Records of numbers, which are added in any order and read as `summed` returns them."""

    def __init__(self, path: Path, kind: np.dtype, by: tuple[str, ...]) -> None:
        """``path`` is a file for what memory does not hold. The first of ``by`` must be keys."""
        self._path, self._kind, self._by = path, kind, by
        self._held: list[np.ndarray] = []
        self._runs: list[int] = [0]  # number of the first record of each in the file, and of all

    def add(self, records: np.ndarray) -> None:
        """Add records."""
        self._held.append(records)
        if sum(part.nbytes for part in self._held) > _HELD_BYTES:
            run = self._sum_held()
            with self._path.open("ab") as file:
                file.write(run.data)
            self._runs.append(self._runs[-1] + len(run))
            self._held = []

    @property
    def nbytes(self) -> int:
        """What all records take, to measure progress by."""
        return self._runs[-1] * self._kind.itemsize + sum(part.nbytes for part in self._held)

    @property
    def parts(self) -> int:
        """In how many parts the table is read, so that each fits into memory."""
        return -(-self.nbytes // _READ_BYTES) or 1

    def _sum_held(self) -> np.ndarray:
        return summed(np.concatenate([np.zeros(0, self._kind), *self._held]), self._by)

    def read(self, parts: int = 0) -> Iterator[np.ndarray]:
        """Yield all records in order, in so many parts (0: as many as they need).

        What has the same first key is in the same part, also in that of another table with as many parts.
        """
        self._held = [self._sum_held()]
        parts = parts or self.parts
        for low, high in itertools.pairwise((number << 64) // parts for number in range(parts + 1)):
            yield summed(np.concatenate([_between(run, self._by[0], low, high) for run in self._all_runs()]), self._by)

    def _all_runs(self) -> list[np.ndarray]:
        """Return the runs on disk and the one in memory. Those are mapped anew, so that what was read is let go."""
        stored = np.memmap(self._path, self._kind, "r") if self._runs[-1] else self._held[0][:0]
        return [*(stored[first:end] for first, end in itertools.pairwise(self._runs)), *self._held]


def _between(run: np.ndarray, key: str, low: int, high: int) -> np.ndarray:
    """Return the records with keys from ``low`` to below ``high``."""
    first, end = (bisect.bisect_left(run[key], bound, key=int) for bound in (low, high))
    return np.array(run[first:end])


class SortedLines:
    """Different lines of text, which are added in any order and read in that of their characters."""

    def __init__(self, folder: Path, name: str) -> None:
        """``folder`` takes files whose names begin with ``name``."""
        self._folder, self._name = folder, name
        self._held: set[str] = set()
        self._held_bytes = 0
        self._runs: list[Path] = []
        self._made = 0

    def add(self, lines: Iterable[str]) -> None:
        """Add lines, without line ends, which they must not contain."""
        for line in lines:
            if line not in self._held:
                self._held.add(line)
                self._held_bytes += len(line) + _LINE_BYTES
                if self._held_bytes > _HELD_BYTES:
                    self._runs.append(self._store(sorted(self._held)))
                    self._held, self._held_bytes = set(), 0

    def _store(self, lines: Iterable[str]) -> Path:
        path = self._folder / f"{self._name}-{self._made}"
        self._made += 1
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
        return path

    def __iter__(self) -> Iterator[str]:
        while len(self._runs) > _MOST_RUNS:
            first, self._runs = self._runs[:_MOST_RUNS], self._runs[_MOST_RUNS:]
            self._runs.append(self._store(heapq.merge(*map(_stored, first))))
            for path in first:
                path.unlink()
        merged = heapq.merge(*map(_stored, self._runs), sorted(self._held))
        return (line for line, _ in itertools.groupby(merged))


def _stored(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line[:-1]
