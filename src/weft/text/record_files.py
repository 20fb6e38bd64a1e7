"""Records of numbers in files, where they take no memory: read from the beginning, or looked up by their keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

READ_BYTES = 1 << 24  # of records that are read at a time
_WINDOW = 1 << 20  # records that are looked through at a time


class RecordFile:
    """Records that are written one after the other, and read as often as needed."""

    def __init__(self, path: Path, kind: np.dtype) -> None:
        """An older file is replaced."""
        self._path, self._kind, self._size = path, kind, 0
        path.write_bytes(b"")

    def __len__(self) -> int:
        """Return the number of records."""
        return self._size

    @property
    def nbytes(self) -> int:
        """What all records take."""
        return self._size * self._kind.itemsize

    def append(self, records: np.ndarray) -> None:
        """Add records at the end."""
        with self._path.open("ab") as file:
            file.write(records.tobytes())
        self._size += len(records)

    def read(self, nbytes: int = 0) -> Iterator[np.ndarray]:
        """Yield all records in order, so many bytes of them at a time (0: what fits well into memory)."""
        some = max((nbytes or READ_BYTES) // self._kind.itemsize, 1)
        for first in range(0, self._size, some):
            yield np.fromfile(self._path, self._kind, some, offset=first * self._kind.itemsize)

    def window(self, first: int, size: int) -> np.ndarray:
        """Return a view of at most ``size`` records from ``first`` on, of which only what is used is read."""
        size = min(size, self._size - first)
        return np.memmap(self._path, self._kind, "r", first * self._kind.itemsize, size)

    def remove(self) -> None:
        """Remove the file."""
        self._path.unlink()


class Lookup:
    """Records by their keys. In memory is one key for each window of a million."""

    def __init__(self, path: Path, kind: np.dtype, key: str, parts: Iterable[np.ndarray]) -> None:
        """The keys must ascend from part to part. Files whose names begin with ``path`` are written."""
        self._keys = RecordFile(path.with_name(f"{path.name}-keys"), np.dtype(np.uint64))
        self._records = RecordFile(path.with_name(f"{path.name}-records"), kind)
        self._kind = kind
        first_keys = [np.zeros(0, np.uint64)]
        for part in parts:
            first_keys.append(part[key][-len(self._keys) % _WINDOW :: _WINDOW].copy())  # a view would hold the part
            self._keys.append(part[key])
            self._records.append(part)
        self._first_keys = np.concatenate(first_keys)  # of the windows

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the record of each key; one that is not there has a record of zeros."""
        different, places = np.unique(keys, return_inverse=True)
        found = np.zeros(len(different), self._kind)
        bounds = [*np.searchsorted(different, self._first_keys).tolist(), len(different)]
        for number, (start, end) in enumerate(itertools.pairwise(bounds)):
            if start < end:  # windows are mapped anew each time, so that what was read is let go
                wanted, window = different[start:end], self._keys.window(number * _WINDOW, _WINDOW)
                at = np.searchsorted(window, wanted, "right") - 1  # no key is below the first of the window
                known = np.flatnonzero(window[at] == wanted)
                found[start + known] = self._records.window(number * _WINDOW, _WINDOW)[at[known]]
        return found[places]
