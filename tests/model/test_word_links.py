"""Links made by torch are those that `attention_to_links` makes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from given_pieces import given_pieces

from weft.align import attention_to_links
from weft.align.attention_to_links import BatchAttention
from weft.align.batched_aligner import PairBatch
from weft.align.windowed import EncodedPair
from weft.model.rows import Attention
from weft.model.word_links import batch_links, linked_words
from weft.text.subwords import Pieces


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.35, 0.9, 1.0])
@pytest.mark.parametrize("digits", [1, 7])  # of probabilities, of which many are equal if there are few
def test_the_same_words_are_linked(threshold: float, digits: int) -> None:
    random = np.random.default_rng(digits)
    probability = np.round(random.random((300, 9, 7), np.float32) ** 3, digits)
    probability[:, 6:] *= random.random((300, 1, 1)) < 0.5  # some sentences are shorter
    found = linked_words(torch.from_numpy(probability), threshold).numpy()
    assert found.any() or threshold == 1
    np.testing.assert_array_equal(found, attention_to_links.linked_words(probability, threshold))


def random_pieces(random: np.random.Generator) -> Pieces:
    """A sentence whose words have several pieces; a piece may be part of several words, or of none."""
    first = np.cumsum(random.integers(0, 2, random.integers(1, 12)))
    return given_pieces(first, first + random.choice([-1, 0, 0, 0, 1, 3], len(first)))


def test_pieces_become_words_as_on_the_processor() -> None:
    random = np.random.default_rng(3)
    pairs = [EncodedPair(number, random_pieces(random), random_pieces(random)) for number in range(200)]
    whole = [EncodedPair(number, given_pieces(range(3)), given_pieces([0, 0, 1])) for number in range(2)]
    for batch in (pairs, pairs[:1], whole):
        sources, targets = [pair.source for pair in batch], [pair.target for pair in batch]
        shape = len(batch), max(len(one.ids) for one in targets) + 1, max(len(one.ids) for one in sources) + 1
        forward, backward = (random.random(shape, np.float32) ** 4 for _ in range(2))
        wanted = BatchAttention.of(forward, backward, sources, targets)
        attention = Attention(torch.from_numpy(forward), torch.from_numpy(backward))
        found = batch_links(attention, PairBatch.of(batch), 0.35, matrices=True)
        aligned = list(found.of_pairs(batch))
        assert [one.pair for one in aligned] == batch
        assert [one.links.keys() for one in aligned] == [links.keys() for links in wanted.links("mean", 0.35)]
        assert [one.score for one in aligned] == pytest.approx(wanted.scores(), abs=1e-6)
        for one, links, cells in zip(aligned, wanted.links("mean", 0.35), wanted.probability, strict=True):
            assert list(one.links) == sorted(one.links) and one.links == pytest.approx(links, abs=1e-6)
            assert one.matrix == pytest.approx(cells, abs=1e-6)
    assert batch_links(attention, PairBatch.of(whole), 0.35, matrices=False).matrix is None


def test_words_without_pieces_have_no_links() -> None:
    nothing = EncodedPair(0, given_pieces([2, 2], [1, 1]), given_pieces([0]))  # white space that is no word
    attention = Attention(torch.ones(1, 2, 3), torch.ones(1, 2, 3))
    (aligned,) = batch_links(attention, PairBatch.of([nothing]), 0.35, matrices=False).of_pairs([nothing])
    assert aligned.links == {}
