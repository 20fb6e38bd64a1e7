"""Which pairs are trained on, and which are held out: decided from a few numbers for each, which wait on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.config import PrepareConfig
from weft.errors import WeftError
from weft.text.counting import Table

PAIR = np.dtype(
    [
        ("source", "<u8"),  # fingerprints of the normalised sentences
        ("target", "<u8"),
        ("source_words", "<u2"),
        ("target_words", "<u2"),
        ("corpus", "<u2"),  # its number
        ("bytes", "<u4"),  # of its line
    ]
)
_CHUNK = 1 << 20  # pairs that are looked at together
_NUMBERED = np.dtype([("key", "u8"), ("example", "u8")])  # a number for equal pairs, and the lowest of their places


class Selection(NamedTuple):
    """What becomes of the pairs."""

    keep: np.ndarray  # (pairs,): whether they are trained on
    held_out: set[int]  # places of those that are held out


def select(pairs: np.ndarray, counts: Sequence[Counter[str]], config: PrepareConfig, folder: Path) -> Selection:
    """Decide about pairs of the type PAIR, and count them in the counts of their corpora.

    ``folder`` takes files, also that of the answer.
    """
    keep = _marks(folder / "keep", len(pairs))  # first whether they are the first of equal ones
    held_out = np.empty(0, np.int64)
    if config.hold_out or config.drop_duplicates:
        different = 0
        for places in _first_of_equals(pairs, config.seed, folder / "equals"):
            held_out = np.append(held_out, places[: config.hold_out - len(held_out)])
            keep[places] = True
            different += len(places)
        if config.hold_out and config.hold_out >= different:
            raise WeftError(f"cannot hold {config.hold_out:,} pairs out of {different:,} different ones")
    sources, targets = pairs["source"][held_out], pairs["target"][held_out]
    for first in range(0, len(pairs), _CHUNK):
        some, marks = pairs[first : first + _CHUNK], keep[first : first + _CHUNK]
        left = np.ones(len(some), bool)
        found: dict[str, np.ndarray] = {}
        if config.hold_out:
            chosen = np.isin(np.arange(first, first + len(some)), held_out)
            left = ~np.isin(some["source"], sources) & ~np.isin(some["target"], targets)
            found |= {"held out": chosen, "like held out": ~left & ~chosen}
        if config.drop_duplicates:
            found["duplicates"] = left & ~marks
            left &= marks
        marks[:] = left
        for reason, marked in (found | {"kept": left}).items():
            numbers = np.bincount(some["corpus"][marked], minlength=len(counts)).tolist()
            for own, number in zip(counts, numbers, strict=True):
                own[reason] += number
    return Selection(keep, set(held_out.tolist()))


def _marks(path: Path, size: int) -> np.ndarray:
    """Return False ``size`` times, in a file: the system keeps in memory what there is room for."""
    with path.open("wb") as file:  # all of it, as a disk that is full later on would end the program
        file.writelines(bytes(min(_CHUNK, size - first)) for first in range(0, size, _CHUNK))
    return np.asarray(np.memmap(path, bool, "r+")) if size else np.zeros(0, bool)


def _first_of_equals(pairs: np.ndarray, seed: int, path: Path) -> Iterator[np.ndarray]:
    """Yield the places of all different pairs, the first of equal ones, in an order that is random but for the text."""
    table = Table(path, _NUMBERED, ("key",))
    for first in range(0, len(pairs), _CHUNK):
        some = pairs[first : first + _CHUNK]
        numbered = np.empty(len(some), _NUMBERED)
        # A number for each pair, the same for equal pairs and in no order: the smallest ones are a random choice.
        mixed = some["source"] * np.uint64(0x9E3779B97F4A7C15) + some["target"] * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed += np.uint64(seed)
        numbered["key"] = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xD6E8FEB86659FD93)
        numbered["example"] = np.arange(first, first + len(some))
        table.add(numbered)
    for part in table.read():
        yield part["example"].astype(np.int64)
