"""Phrase pairs, beside a definition of them that looks at all stretches."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.phrases import Stretches, phrase_pairs

Pairs = list[tuple[int, int, int, int]]


def found(links: list[tuple[int, int]], source: list[int], target: list[int], longest: int) -> Pairs:
    """First word and number of words of both sides."""
    sides = phrase_pairs(np.array(links, np.int64).reshape(-1, 2), np.array(source), np.array(target), longest)
    return sorted(zip(*(values.tolist() for side in sides for values in side), strict=True))


def defined(links: list[tuple[int, int]], source: int, target: int, longest: int) -> Pairs:
    """The same for one sentence pair."""
    pairs = []
    stretches = [
        [(first, words) for first in range(length) for words in range(1, min(longest, length - first) + 1)]
        for length in (source, target)
    ]
    for (i, n), (j, m) in itertools.product(*stretches):
        inside = [(s, t) for s, t in links if i <= s < i + n and j <= t < j + m]
        touching = [(s, t) for s, t in links if i <= s < i + n or j <= t < j + m]
        ends = {i, i + n - 1} <= {s for s, _ in links} and {j, j + m - 1} <= {t for _, t in links}
        if inside and inside == touching and ends:
            pairs.append((i, n, j, m))
    return sorted(pairs)


@pytest.mark.parametrize(
    ("links", "lengths", "longest", "expected"),
    [
        ([(0, 0), (1, 1)], (2, 2), 1, [(0, 1, 0, 1), (1, 1, 1, 1)]),
        ([(0, 0), (1, 1)], (2, 2), 2, [(0, 1, 0, 1), (0, 2, 0, 2), (1, 1, 1, 1)]),
        ([(0, 0), (0, 1)], (1, 2), 2, [(0, 1, 0, 2)]),  # a compound
        ([(0, 0), (0, 1)], (1, 2), 1, []),
        ([(0, 0), (0, 2), (1, 1)], (2, 3), 3, [(0, 2, 0, 3), (1, 1, 1, 1)]),  # one around another
        ([(0, 0), (2, 1)], (3, 2), 3, [(0, 1, 0, 1), (0, 3, 0, 2), (2, 1, 1, 1)]),  # a word without links inside
        ([(1, 0)], (3, 2), 3, [(1, 1, 0, 1)]),  # but not at the ends
        ([], (3, 2), 3, []),
        ([], (0, 0), 3, []),
    ],
)
def test_phrase_pairs(links: list[tuple[int, int]], lengths: tuple[int, int], longest: int, expected: Pairs) -> None:
    assert found(links, [lengths[0]], [lengths[1]], longest) == expected


@given(st.integers(0, 1 << 32), st.integers(1, 7))
def test_all_phrase_pairs_of_several_sentences_are_found(seed: int, longest: int) -> None:
    generator = random.Random(seed)
    links, expected, lengths, i, j = [], [], [(0, 0)], 0, 0
    for _ in range(3):
        source, target = generator.randrange(7), generator.randrange(7)
        cells = list(itertools.product(range(source), range(target)))
        own = sorted(generator.sample(cells, generator.randint(0, min(len(cells), 8))))
        links += [(s + i, t + j) for s, t in own]
        expected += [(s + i, n, t + j, m) for s, n, t, m in defined(own, source, target, longest)]
        lengths.append((source, target))
        i, j = i + source, j + target
    sources, targets = ([pair[side] for pair in lengths] for side in (0, 1))
    assert found(links, sources, targets, longest) == sorted(expected)


def test_keys_and_least_values_of_stretches() -> None:
    words = np.array([7, 5, 7, 5, 3], np.uint64)
    stretches = Stretches(np.array([0, 2, 0, 1, 4]), np.array([2, 2, 1, 2, 1]))
    keys = stretches.keys(words).tolist()
    assert keys[0] == keys[1] and len(set(keys)) == 4  # 7 5, 7 5, 7, 5 7, 3
    assert stretches.least(np.array([0.9, 0.5, 0.8, 0.7, 0.1])).tolist() == [0.5, 0.7, 0.9, 0.5, 0.1]
