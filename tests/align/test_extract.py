"""Links from attention matrices: strong cells, weaker ones beside them, words of several pieces."""

from __future__ import annotations

import numpy as np
import pytest

from weft.align.extract import linked_cells, word_links


def cells(strength: list[list[float]], threshold: float = 0.5) -> set[tuple[int, int]]:
    return {
        (int(i), int(j)) for i, j in zip(*np.nonzero(linked_cells(np.array([strength]), threshold)[0]), strict=True)
    }


def test_strong_cells_are_links_wherever_they_stand() -> None:
    assert cells([[0.5, 0.0, 0.9], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]]) == {(0, 0), (0, 2), (2, 0)}


def test_a_weaker_cell_needs_a_neighbour_and_a_word_without_a_link() -> None:
    assert cells([[0.9, 0.3, 0.0], [0.0, 0.0, 0.0]]) == {(0, 0), (0, 1)}  # beside, the second source word is free
    assert cells([[0.9, 0.2, 0.0], [0.0, 0.0, 0.0]]) == {(0, 0)}  # less than half
    assert cells([[0.9, 0.0, 0.3], [0.0, 0.0, 0.0]]) == {(0, 0)}  # too far away
    assert cells([[0.9, 0.3], [0.3, 0.9]]) == {(0, 0), (1, 1)}  # both words have links
    assert cells([[0.9, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.4]]) == {(0, 0), (1, 1)}  # one step, not two


def test_what_is_no_word_is_never_linked() -> None:
    assert cells([[0.9, 0.0], [0.0, 0.0]], threshold=0.0) == {(0, 0)}


def test_torch_and_numpy_agree() -> None:
    torch = pytest.importorskip("torch")
    strength = np.random.default_rng(1).random((5, 7, 9)) ** 3
    expected = linked_cells(strength, 0.5)
    assert expected.sum() > (strength >= 0.5).sum()
    assert np.array_equal(linked_cells(torch.from_numpy(strength), 0.5).numpy(), expected)


def test_two_words_are_linked_as_strongly_as_their_strongest_pieces() -> None:
    strength = np.array(
        [
            [[0.9, 0.2, 0.0], [0.6, 0.1, 0.0], [0.0, 0.0, 1.0]],
            [[0.3, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        ]
    )  # (batch, target, source); both words of the first pair have two pieces on the target side
    source = np.array([[0, 1, -1], [0, -1, -1]])
    target = np.array([[0, 0, -1], [0, -1, -1]])
    (first, first_score), (second, second_score) = word_links(strength, source, target, 0.5)
    assert first == {(0, 0): 0.9} and second == {}
    assert first_score == pytest.approx((0.9 + 0.2 + 0.9 + 0.6) / 4) and second_score == pytest.approx(0.3)
