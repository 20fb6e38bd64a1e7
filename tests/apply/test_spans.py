"""Where stretches of a sentence are in its translation, by given probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.spans import SHARE, SHORT_SHARE, Run, counterparts, shares, with_copies


def found(cells: list[list[float]], *wanted: Run, short: tuple[int, ...] = (), tokens: list[int] | None = None) -> list:
    """The runs that are found for stretches of one layer."""
    matrix = np.array(cells)
    share = np.array([SHORT_SHARE if word in short else SHARE for word in range(matrix.shape[1])])
    starts = None if tokens is None else np.array(tokens)
    chosen = counterparts(matrix, wanted, [""] * len(wanted), share, starts)
    return [one and tuple(one.run) for one in chosen]


@pytest.mark.parametrize(
    ("cells", "wanted", "expected"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], Run(1, 2), (1, 2)),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], Run(0, 2), (0, 3)),  # over a word without links
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], Run(0, 2), (0, 3)),  # over a word of another one
        ([[1.0, 0, 0, 0, 0], [0, 0, 0, 0, 0.9], [0, 1.0, 1.0, 1.0, 0]], Run(0, 2), (0, 1)),  # not over three
        ([[0.9, 0.3], [0.0, 0.0]], Run(0, 1), (0, 2)),  # what is linked in part belongs to it
        ([[0.9, 0.3], [0.0, 0.9]], Run(0, 1), (0, 1)),  # but not if it is another word's
        ([[0.3, 0.0], [0.0, 1.0]], Run(0, 1), (0, 1)),  # weak, but there is nothing better
        ([[0.1, 0.1], [0.0, 1.0]], Run(0, 1), None),  # too weak
        ([[0.0, 0.0], [0.0, 1.0]], Run(0, 1), None),
    ],
)
def test_the_run_that_gains_most(cells: list[list[float]], wanted: Run, expected: tuple[int, int] | None) -> None:
    assert found(cells, wanted) == [expected]


def test_short_words_at_a_border_must_be_surer() -> None:
    cells = [[0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert found(cells, Run(0, 1)) == [(0, 2)]
    assert found(cells, Run(0, 1), short=(0,)) == [(1, 2)]
    assert found([[0.8, 1.0]], Run(0, 1), short=(0,)) == [(0, 2)]


@pytest.mark.parametrize(
    ("word", "is_short"),
    [
        *[("la", True), ("Die", True), ("l'", True), ("L’", True), ("на", True), ("der", True)],
        *[("EU", False), ("Haus", False), ("12", False), (",", False), ("の", False), ("한국", False), ("في", False)],
    ],
)
def test_short_words(word: str, is_short: bool) -> None:
    assert shares([word]) == (SHORT_SHARE if is_short else SHARE)


def test_what_gains_most_is_chosen_first_and_others_of_its_layer_go_elsewhere() -> None:
    cells = np.array([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    wanted, share = [Run(1, 2), Run(0, 1)], np.full(3, SHARE)
    assert [one and tuple(one.run) for one in counterparts(cells, wanted, ["a", "a"], share)] == [(1, 2), (0, 1)]
    assert [one and tuple(one.run) for one in counterparts(cells, wanted, ["a", "b"], share)] == [(0, 2), (0, 1)]


def test_stretches_that_overlap_may_share_words() -> None:
    assert found([[1.0, 0.0], [0.0, 1.0]], Run(0, 2), Run(1, 2)) == [(0, 2), (1, 2)]


def test_a_token_gains_what_its_best_word_gains() -> None:
    cells = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]  # the second word is glued to the first
    assert found(cells, Run(0, 1), Run(2, 3), tokens=[0, 2]) == [(0, 1), (1, 2)]
    assert found(cells, Run(0, 1), Run(1, 2), tokens=[0, 2]) == [(0, 1), None]


def test_copies_are_linked_to_each_other() -> None:
    source, target = ["by", "Anna", "B.", "in", "May"], ["im", "Mai", "von", "Anna", "B."]
    cells = np.full((5, 5), 0.1)
    changed = with_copies(cells, source, target, [Run(1, 3)])
    assert changed[1].tolist() == [0, 0, 0, 1, 0] and changed[2].tolist() == [0, 0, 0, 0, 1]
    assert changed[0].tolist() == [0.1, 0.1, 0.1, 0, 0] and cells[1, 0] == 0.1


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (["in"], ["in"]),  # neither a name nor a number
        (["Anna"], ["Anne"]),
        (["Anna"], ["Anna", "Anna"]),
        (["Anna", "Anna"], ["Anna"]),
        (["Anna"], []),
    ],
)
def test_what_is_no_copy(source: list[str], target: list[str]) -> None:
    cells = np.full((len(source), len(target)), 0.1)
    assert with_copies(cells, source, target, [Run(0, 1)]) is cells


@st.composite
def layered(draw: st.DrawFn) -> tuple[np.ndarray, list[Run], list[str], list[int]]:
    """Probabilities, stretches with their layers, and the first words of tokens."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    cells = draw(st.lists(st.floats(0, 1), min_size=rows * columns, max_size=rows * columns))
    starts = st.integers(0, rows - 1)
    wanted = [Run(first, draw(st.integers(first + 1, rows))) for first in draw(st.lists(starts, max_size=5))]
    layers = [draw(st.sampled_from("ab")) for _ in wanted]
    tokens = sorted({0, *draw(st.sets(st.integers(0, columns - 1)))})
    return np.array(cells).reshape(rows, columns), wanted, layers, tokens


@given(layered())
def test_counterparts_are_in_bounds_and_those_of_a_layer_do_not_collide(
    case: tuple[np.ndarray, list[Run], list[str], list[int]],
) -> None:
    matrix, wanted, layers, tokens = case
    chosen = counterparts(matrix, wanted, layers, np.full(matrix.shape[1], SHARE), np.array(tokens))
    assert len(chosen) == len(wanted)
    for one, run, layer in zip(chosen, wanted, layers, strict=True):
        assert one is None or (0 <= one.run.start < one.run.end <= len(tokens) and 0 < one.strength <= 1)
        for other, other_run, other_layer in zip(chosen, wanted, layers, strict=True):
            if one and other and layer == other_layer and not run.overlaps(other_run):
                assert not one.run.overlaps(other.run)


def test_nothing_to_do() -> None:
    assert counterparts(np.zeros((2, 3)), [], [], np.zeros(3)) == []
    assert counterparts(np.zeros((2, 0)), [Run(0, 1)], [""], np.zeros(0)) == [None]
