"""Links from attention matrices: words compete for each other, and may have several pieces."""

from __future__ import annotations

import numpy as np
import pytest
from given_pieces import given_pieces

from weft.align.attention_to_links import BatchAttention, linked_words
from weft.config import Merge
from weft.text.subwords import Pieces


def pieces(*words: list[int]) -> list[Pieces]:
    """Sentences of pieces that are each part of one word."""
    return [given_pieces(one) for one in words]


def linked(probability: list[list[float]], threshold: float = 0.3) -> set[tuple[int, int]]:
    found = linked_words(np.array([probability]), threshold)[0]
    return {(int(target), int(source)) for target, source in zip(*np.nonzero(found), strict=True)}


def test_words_choose_each_other() -> None:
    assert linked([[0.9, 0.1], [0.2, 0.8]]) == {(0, 0), (1, 1)}
    assert linked([[0.9, 0.0, 0.0], [0.0] * 3, [0.6, 0.0, 0.4]]) == {(0, 0), (2, 2)}  # its first choice is taken
    assert linked([[0.2, 0.1], [0.1, 0.3]]) == {(1, 1)}  # less than the threshold


def test_what_is_nearly_sure_is_a_link_wherever_it_is() -> None:
    assert linked([[0.9, 0.0, 0.8], [0.0] * 3, [0.75, 0.0, 0.9]]) == {(0, 0), (0, 2), (2, 0), (2, 2)}
    assert linked([[0.9, 0.0, 0.8], [0.0] * 3, [0.75, 0.0, 0.9]], threshold=0.85) == {(0, 0), (2, 2)}


def test_a_word_without_a_link_joins_a_phrase_that_it_touches() -> None:
    assert linked([[0.9, 0.4, 0.0], [0.0, 0.0, 0.0]]) == {(0, 0), (0, 1)}  # the second source word is free
    assert linked([[0.9, 0.2, 0.0], [0.0, 0.0, 0.0]]) == {(0, 0), (0, 1)}  # beside a link, less is enough
    assert linked([[0.9, 0.1, 0.0], [0.0, 0.0, 0.0]]) == {(0, 0)}  # too improbable
    assert linked([[0.9, 0.0], [0.0, 0.9], [0.4, 0.0]]) == {(0, 0), (1, 1), (2, 0)}  # diagonally counts
    assert linked([[0.9, 0.0], [0.0, 0.9], [0.2, 0.0]]) == {(0, 0), (1, 1)}  # but not if it is less
    assert linked([[0.9, 0.0, 0.4], [0.0, 0.0, 0.0]]) == {(0, 0)}  # too far away
    assert linked([[0.9, 0.4], [0.4, 0.9]]) == {(0, 0), (1, 1)}  # both words have links
    assert linked([[0.9, 0.5, 0.4], [0.0, 0.0, 0.0]]) == {(0, 0), (0, 1), (0, 2)}  # one after the other


def test_a_free_word_takes_the_best_of_its_neighbours_only() -> None:
    assert linked([[0.9, 0.0, 0.0], [0.4, 0.5, 0.0], [0.0, 0.0, 0.8]]) == {(0, 0), (1, 1), (2, 2)}
    assert linked([[0.9, 0.0], [0.4, 0.5], [0.0, 0.8]]) == {(0, 0), (1, 1), (2, 1)}


def test_pairs_of_a_batch_do_not_meet() -> None:
    generator = np.random.default_rng(1)
    batch = generator.random((6, 7, 9)) ** 3
    together = linked_words(batch, 0.2)
    assert together.any(axis=(1, 2)).all()
    for number, alone in enumerate(batch):
        np.testing.assert_array_equal(together[number], linked_words(alone[None], 0.2)[0])
        np.testing.assert_array_equal(together[number].T, linked_words(alone.T[None], 0.2)[0])


def test_what_has_no_probability_is_never_linked() -> None:
    assert linked([[0.9, 0.0], [0.0, 0.0]], threshold=0.0) == {(0, 0)}


def test_a_link_is_as_probable_as_the_surest_piece_of_each_word_says() -> None:
    forward = np.array([[[0.5, 0.4, 0.1], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]], [[0.3, 0.0, 0.7], [0.0] * 3, [0.0] * 3]])
    backward = np.array(
        [[[0.6, 0.1, 0.0], [0.2, 0.2, 0.0], [0.2, 0.7, 1.0]], [[0.3, 0.0, 0.0], [0.7, 0, 1], [0.0] * 3]]
    )
    # (batch, target, source); both words of the first pair have two pieces, those of the second have one
    batch = BatchAttention.of(forward, backward, pieces([0, 0], [0]), pieces([0, 0], [0]))
    assert batch.links("mean", 0.3) == [
        {
            (0, 0): pytest.approx((0.9 + 0.8) / 2)
        },  # 0.5 + 0.4 of the first target piece, 0.6 + 0.2 of the first source one
        {(0, 0): pytest.approx(0.3)},
    ]
    assert batch.links("mean", 0.31)[1] == {}
    best = [0.55, 0.25, 0.55, 0.15]  # of each source and each target piece
    assert batch.scores() == pytest.approx([sum(best) / 4, 0.3])


def test_a_piece_that_spans_words_links_them_all() -> None:
    strength = np.array(
        [[[0.9, 0.0, 0.0], [0.0, 0.7, 0.0], [0.0, 0.6, 0.0]], [[0.0, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0] * 3]]
    )
    source = [given_pieces([0, 2, 2], [1, 2, 2]), given_pieces([0, 1], [0, 3])]  # words 0–1, 2, 2 and 0, 1–3
    target = [given_pieces([0, 1, 2], [0, 2, 2]), given_pieces([0], [1])]
    batch = BatchAttention.of(strength, strength, source, target)
    assert batch.links("mean", 0.5)[0] == pytest.approx({(0, 0): 0.9, (1, 0): 0.9, (2, 1): 0.7, (2, 2): 1.0})
    assert batch.links("mean", 0.5)[1].keys() == {(i, j) for i in (1, 2, 3) for j in (0, 1)}
    assert batch.links("union")[1].keys() >= {(i, j) for i in (1, 2, 3) for j in (0, 1)}
    assert all(type(number) is int for links in batch.links("mean", 0.5) for link in links for number in link)
    assert list(batch.links("mean", 0.5)[1]) == sorted(batch.links("mean", 0.5)[1])


def test_words_and_sentences_without_pieces() -> None:
    attention = np.full((2, 3, 3), 0.5)
    source = [given_pieces([1, 1], [0, 1]), given_pieces([])]  # the first source piece is outside of all words
    target = [given_pieces([2]), given_pieces([])]
    batch = BatchAttention.of(attention, attention, source, target)
    assert batch.links("mean", 0.3) == [{(1, 2): 0.5}, {}] and batch.links("union") == [{(1, 2): 0.5}, {}]


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
