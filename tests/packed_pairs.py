"""Sentence pairs of numbers, packed into rows, and what is found in the rows."""

from __future__ import annotations

from collections import Counter

import numpy as np

from weft.corpus.packed_rows import PackedRows
from weft.corpus.packing import pack
from weft.corpus.prepared import Side
from weft.text.subwords import END, PAD

Sentence = tuple[int, ...]
Pair = tuple[Sentence, Sentence]


def side_of(side: list[Sentence]) -> Side:
    offsets = np.cumsum([0, *map(len, side)])
    return Side(np.array([piece for sentence in side for piece in sentence], "<u2"), offsets)


def pack_pairs(pairs: list[Pair], row_length: int, seed: int = 1) -> PackedRows:
    return pack(side_of([source for source, _ in pairs]), side_of([target for _, target in pairs]), row_length, seed)


def random_pairs(count: int, source_mean: float, target_mean: float) -> list[Pair]:
    chance = np.random.default_rng(5)

    def sentence(mean: float) -> Sentence:
        return tuple(chance.integers(2, 60_000, 1 + chance.poisson(mean - 1)).tolist())

    return [(sentence(source_mean), sentence(target_mean)) for _ in range(count)]


def sentences_of(row: np.ndarray) -> list[Sentence]:
    """What stands in a row, split at END; after the last END there may be nothing but padding."""
    found: list[Sentence] = []
    current: list[int] = []
    for piece in np.trim_zeros(row, "b").tolist():
        assert piece != PAD
        if piece == END:
            found.append(tuple(current))
            current = []
        else:
            current.append(piece)
    assert not current
    return found


def all_rows(packed: PackedRows) -> tuple[np.ndarray, np.ndarray]:
    return packed.take(np.arange(len(packed)))


def pairs_of(packed: PackedRows) -> Counter[Pair]:
    """All pairs in the rows; the k-th sentence of a source row belongs to the k-th of the target row."""
    found: Counter[Pair] = Counter()
    for source, target in zip(*all_rows(packed), strict=True):
        found.update(zip(sentences_of(source), sentences_of(target), strict=True))
    return found


def fitting(pairs: list[Pair], packed: PackedRows) -> list[Pair]:
    room = packed.lengths
    return [pair for pair in pairs if len(pair[0]) < room[0] and len(pair[1]) < room[1]]
