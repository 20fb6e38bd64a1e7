"""Links from attention matrices: strong cells, weaker ones beside them, words of several pieces."""

from __future__ import annotations

import numpy as np
import pytest

from weft.align.attention_to_links import BatchAttention, linked_cells
from weft.config import Merge
from weft.text.subwords import Pieces


def pieces(*words: list[int]) -> list[Pieces]:
    """Sentences of pieces that are each part of one word."""
    return [Pieces([5] * len(one), one, one) for one in words]


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
    )  # (batch, target, source); the target word of the first pair has two pieces
    batch = BatchAttention.of(strength, strength, pieces([0, 1], [0]), pieces([0, 0], [0]))
    assert batch.links("mean", 0.5) == [{(0, 0): 0.9}, {}]
    assert batch.scores() == pytest.approx([(0.9 + 0.2 + 0.9 + 0.6) / 4, 0.3])


def test_a_piece_that_spans_words_links_them_all() -> None:
    strength = np.array(
        [[[0.9, 0.0, 0.0], [0.0, 0.7, 0.0], [0.0, 0.6, 0.0]], [[0.0, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0] * 3]]
    )
    source = [Pieces([5, 5, 5], [0, 2, 2], [1, 2, 2]), Pieces([5, 5], [0, 1], [0, 3])]  # words 0–1, 2, 2 and 0, 1–3
    target = [Pieces([5, 5, 5], [0, 1, 2], [0, 2, 2]), Pieces([5], [0], [1])]
    batch = BatchAttention.of(strength, strength, source, target)
    assert batch.links("mean", 0.5) == [
        {(0, 0): 0.9, (1, 0): 0.9, (2, 1): 0.7, (2, 2): 0.7},
        {(1, 0): 0.8, (1, 1): 0.8, (2, 0): 0.8, (2, 1): 0.8, (3, 0): 0.8, (3, 1): 0.8},
    ]
    assert batch.links("union")[1].keys() >= {(i, j) for i in (1, 2, 3) for j in (0, 1)}
    assert all(type(number) is int for links in batch.links("mean", 0.5) for link in links for number in link)
    assert list(batch.links("mean", 0.5)[1]) == sorted(batch.links("mean", 0.5)[1])


def test_every_merge() -> None:
    forward = np.array([[[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.0, 0.0, 1.0]]])
    backward = np.array([[[0.6, 0.1, 0.3], [0.1, 0.1, 0.3], [0.1, 0.6, 0.1], [0.2, 0.2, 0.3]]])
    batch = BatchAttention.of(
        forward, backward, pieces([0, 1]), pieces([0, 1, 2])
    )  # the last row and column are ends of sentences

    def links(merge: Merge, threshold: float = 0.0) -> set[tuple[int, int]]:
        return set(batch.links(merge, threshold)[0])

    assert links("forward") == {(0, 0), (0, 2)}  # the second target word looks at the end
    assert links("backward") == {(0, 0), (1, 2)}
    assert links("intersection") == {(0, 0)} and links("union") == {(0, 0), (0, 2), (1, 2)}
    assert links("best-cells") == {(0, 0), (1, 2)}  # 0.42 and 0.24
    assert links("mean", 0.6) == {(0, 0)} and links("mean", 0.5) == {(0, 0), (1, 2)}
    assert batch.links("union")[0] == pytest.approx({(0, 0): 0.65, (0, 2): 0.3, (1, 2): 0.5})


def test_best_cells_are_those_of_packed_rows() -> None:
    torch = pytest.importorskip("torch")
    from weft.model.packed_links import best_cell_links, best_source_links
    from weft.model.rows import PairRows

    generator = np.random.default_rng(2)
    lengths = [(3, 5), (6, 2), (1, 1), (6, 6)]  # source, target
    forward, backward = generator.random((2, len(lengths), 7, 7))
    ids = [torch.zeros(len(lengths), 7, dtype=torch.int32) for _ in range(2)]
    for row, pair in enumerate(lengths):
        for side, length in zip(ids, pair, strict=True):
            side[row, :length], side[row, length] = 5, 1
        forward[row, :, pair[0] + 1 :], backward[row, pair[1] + 1 :] = 0, 0  # no attention to padding
    rows = PairRows.of(*ids)
    words = [pieces(*(list(range(pair[side])) for pair in lengths)) for side in range(2)]
    batch = BatchAttention.of(forward, backward, *words)
    both = best_cell_links(torch.from_numpy(forward), torch.from_numpy(backward), rows.target, rows.source)
    one = best_source_links(torch.from_numpy(forward), rows.target, rows.source)
    for merge, expected in (("best-cells", both), ("forward", one)):
        found = {(row, j, i) for row, links in enumerate(batch.links(merge)) for i, j in links}
        assert found == {tuple(cell) for cell in expected.nonzero().tolist()}
