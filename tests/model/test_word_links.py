"""Links made by torch are those that `attention_to_links` makes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from given_pieces import given_pieces

from weft.align import attention_to_links
from weft.align.attention_to_links import BatchAttention
from weft.align.batched_aligner import PackedPairs
from weft.align.windowed import EncodedPair
from weft.model.rows import Attend, Attention, PairRows
from weft.model.word_links import linked_words, packed_links
from weft.text.subwords import Pieces

CPU = torch.device("cpu")


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.35, 0.9, 1.0])
@pytest.mark.parametrize("digits", [1, 7])  # of probabilities, of which many are equal if there are few
def test_the_same_words_are_linked(threshold: float, digits: int) -> None:
    random = np.random.default_rng(digits)
    batches = [
        np.round(random.random(shape, np.float32) ** 3, digits) for shape in ((300, 9, 7), (1, 1, 1), (50, 3, 12))
    ]
    batches[0][:, 6:] *= random.random((300, 1, 1)) < 0.5  # some sentences are shorter
    counts, *links = linked_words([torch.from_numpy(one) for one in batches], threshold)
    found = list(zip(*(one.tolist() for one in links), strict=True))
    wanted, of_pairs = [], []
    for probability in batches:
        for cells, linked in zip(probability, attention_to_links.linked_words(probability, threshold), strict=True):
            sources, targets = np.nonzero(linked.T)
            wanted += zip(sources.tolist(), targets.tolist(), cells[targets, sources].tolist(), strict=True)
            of_pairs.append(len(sources))
    assert found == wanted and counts.tolist() == of_pairs
    assert found or threshold == 1


def random_pieces(random: np.random.Generator) -> Pieces:
    """A sentence whose words have several pieces; a piece may be part of several words, or of none."""
    first = np.cumsum(random.integers(0, 2, random.integers(1, 12)))
    return given_pieces(first, first + random.choice([-1, 0, 0, 0, 1, 3], len(first)))


def given_attention(*batches: tuple[np.ndarray, np.ndarray]) -> Attend:
    """What attends as is given, batch after batch."""
    answers = iter(batches)

    def attend(rows: PairRows) -> Attention:
        forward, backward = next(answers)
        assert forward.shape == (*rows.target.ids.shape, rows.source.ids.shape[1])
        return Attention(torch.from_numpy(forward), torch.from_numpy(backward))

    return attend


def test_pieces_become_words_as_on_the_processor() -> None:
    random = np.random.default_rng(3)
    pairs = [EncodedPair(number, random_pieces(random), random_pieces(random)) for number in range(200)]
    whole = [EncodedPair(number, given_pieces(range(3)), given_pieces([0, 0, 1])) for number in range(2)]
    for batches in ([pairs[:99], pairs[99:]], [pairs[:1]], [whole]):
        attention, wanted = [], []
        for batch in batches:
            sides = [pair.source for pair in batch], [pair.target for pair in batch]
            lengths = [max(len(one.ids) for one in side) + 1 for side in sides]
            forward, backward = random.random((2, len(batch), lengths[1], lengths[0]), np.float32) ** 4
            attention.append((forward, backward))
            of_batch = BatchAttention.of(forward, backward, *sides)
            wanted += zip(of_batch.links("mean", 0.35), of_batch.scores(), of_batch.probability, strict=True)
        packed, order = PackedPairs.of(batches), [pair for batch in batches for pair in batch]
        found = packed_links(given_attention(*attention), packed, CPU, 0.35, matrices=True)
        aligned = list(found.of_pairs(order))
        assert [one.pair for one in aligned] == order and any(one.links for one in aligned)
        for one, (links, score, cells) in zip(aligned, wanted, strict=True):
            assert list(one.links) == list(links) == sorted(links) and one.links == pytest.approx(links, abs=1e-6)
            assert one.score == pytest.approx(score, abs=1e-6) and one.matrix == pytest.approx(cells, abs=1e-6)
        plain = packed_links(given_attention(*attention), packed, CPU, 0.35, matrices=False)
        assert [one.links for one in plain.of_pairs(order)] == [one.links for one in aligned] and not plain.matrices


def test_words_without_pieces_have_no_links() -> None:
    nothing = [EncodedPair(0, given_pieces([2, 2], [1, 1]), given_pieces([0]))]  # white space that is no word
    ones = np.ones((1, 2, 3), np.float32)
    found = packed_links(given_attention((ones, ones)), PackedPairs.of([nothing]), CPU, 0.35, matrices=False)
    assert [one.links for one in found.of_pairs(nothing)] == [{}]
