"""Probabilities of links with regard to the words beside."""

from __future__ import annotations

import numpy as np

from weft.apply.link_context import in_context


def test_words_that_are_there_twice_are_told_apart_by_the_words_beside() -> None:
    """Of ``red house … old house``, with ``rotes Haus … altes Haus``."""
    matrix = np.zeros((8, 8), np.float32)
    matrix[0, 0] = matrix[6, 6] = 0.9
    matrix[np.ix_((1, 7), (1, 7))] = 0.45
    found = in_context(matrix)
    assert found[1, 1] > 0.6 > 0.3 > found[1, 7] and found[7, 7] > 0.6 > 0.3 > found[7, 1]
    assert np.allclose(found.sum(0), matrix.sum(0), atol=0.01)
    assert np.allclose(found.sum(1), matrix.sum(1), atol=0.01)


def test_what_is_sure_or_alone_stays_as_it_is() -> None:
    matrix = np.array([[0.8, 0.75, 0.0], [0.0, 0.0, 0.3]], np.float32)
    assert np.allclose(in_context(matrix), matrix)
    assert in_context(np.zeros((0, 2), np.float32)).shape == (0, 2)
