"""Pairs in batches, and links that come back in arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from given_pieces import given_pieces

from weft.align import batched_aligner
from weft.align.batched_aligner import PackedLinks, PackedPairs, sorted_batches
from weft.align.windowed import EncodedPair


def pairs(*lengths: tuple[int, int]) -> list[EncodedPair]:
    """Pairs with so many pieces on both sides."""
    return [EncodedPair(number, *(given_pieces(range(one)) for one in sides)) for number, sides in enumerate(lengths)]


def numbers(batches: list[list[EncodedPair]]) -> list[list[int]]:
    return [[pair.number for pair in batch] for batch in batches]


def test_batches_are_of_similar_length_and_keep_their_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    given = pairs((9, 2), (1, 1), (2, 9), (3, 3), (1, 2))
    assert numbers(sorted_batches(given, 1_000)) == [[1, 4, 3, 0, 2]]
    assert numbers(sorted_batches(given, 20)) == [[1, 4, 3], [0, 2]]  # 3 · 4 tokens, 2 · 10
    assert numbers(sorted_batches(given, 1)) == [[1], [4], [3], [0], [2]]
    monkeypatch.setattr(batched_aligner, "_BATCH_CELLS", 100)
    assert numbers(sorted_batches(given, 1_000)) == [[1, 4, 3], [0], [2]]  # 10² cells each
    assert sorted_batches([], 10) == []


def test_packed_pairs_are_the_same_in_another_process() -> None:
    first, second = pairs((2, 1), (1, 3))
    spanning = EncodedPair(2, given_pieces([0, 1], [0, 3]), given_pieces([0]))
    packed = PackedPairs.of([[first], [second, spanning]])
    assert packed.sizes == [1, 2] and packed.source.lengths.tolist() == [2, 1, 2]
    assert packed.source.first.tolist() == [0, 1, 0, 0, 1] and packed.source.last.tolist() == [0, 1, 0, 0, 3]
    there = pickle.loads(pickle.dumps(packed))
    assert there.target.last is there.target.first and there.source.last is not there.source.first
    for side, copy in zip(packed[:2], there[:2], strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(side, copy, strict=True))


def test_links_of_each_pair() -> None:
    found = PackedLinks(
        counts=np.array([2, 0, 1]),
        sources=np.array([0, 1, 4]),
        targets=np.array([1, 0, 5]),
        probabilities=np.array([0.5, 1.0, 0.25]),
        scores=np.array([0.75, 0.0, 0.5]),
        matrices=[np.zeros((2, 3, 3)), np.ones((1, 6, 5))],
    )
    given = pairs((1, 1), (1, 1), (1, 1))
    aligned = list(found.of_pairs(given))
    assert [one.links for one in aligned] == [{(0, 1): 0.5, (1, 0): 1.0}, {}, {(4, 5): 0.25}]
    assert [one.pair for one in aligned] == given and [one.score for one in aligned] == [0.75, 0.0, 0.5]
    assert [one.matrix is not None and one.matrix.shape for one in aligned] == [(3, 3), (3, 3), (6, 5)]
    assert all(one.matrix is None for one in found._replace(matrices=[]).of_pairs(given))
