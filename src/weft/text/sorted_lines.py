"""Different lines of text, more than memory holds: they wait in memory, go to disk in sorted runs, and are merged."""

from __future__ import annotations

import heapq
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_HELD_BYTES = 1 << 25  # of lines in memory before they go to disk
_SLOT_BYTES = 64  # that a line takes in a set, beside itself
_MOST_RUNS = 100  # files that are open at a time


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
                self._held_bytes += sys.getsizeof(line) + _SLOT_BYTES
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
            self._runs.append(self._store(_merged(map(_stored, first))))
            for path in first:
                path.unlink()
        return _merged([*map(_stored, self._runs), sorted(self._held)])


def _merged(runs: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of sorted runs, each once."""
    return (line for line, _ in itertools.groupby(heapq.merge(*runs)))


def _stored(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line[:-1]
