"""Contiguity, agreement and guided loss on matrices worked out by hand."""

from __future__ import annotations

import math
from itertools import chain

import pytest
import torch
from torch import Tensor

from weft.model.losses import agreement_loss, contiguity_loss, guided_loss
from weft.model.rows import PairRows, Rows, masked_softmax


def sentence(words: int) -> Rows:
    return Rows.of(torch.tensor([[*range(2, 2 + words), 1]]))


def attention_of(cells: list[tuple[int, int]], target: Rows, source: Rows) -> Tensor:
    """All of each target word's attention on one source word; (target, source) pairs."""
    attention = torch.zeros(1, target.ids.shape[1], source.ids.shape[1])
    for target_word, source_word in cells:
        attention[0, target_word, source_word] = 1
    return attention


@pytest.mark.parametrize("name", ["diagonal", "horizontal"])
def test_diagonal_and_horizontal_runs_reach_the_minimum(name: str) -> None:
    """Every 2×2 window on the run holds 0.5 + 0.5; the last word has no neighbour after it and only gets 0.5."""
    target, source = sentence(4), sentence(4)
    cells = [(word, word if name == "diagonal" else 1) for word in range(4)]
    loss = contiguity_loss(attention_of(cells, target, source), target, source)
    assert loss.item() == pytest.approx(math.log(2), abs=1e-5)


def test_a_vertical_run_cannot_reach_it() -> None:
    """A word that looks at two neighbours has a window of 0.5·(½ + ½): softmax leaves each at most a half."""
    target, source = sentence(1), sentence(3)
    attention = torch.tensor([[[0.5, 0.5, 0, 0], [0, 0, 0, 1.0]]])
    assert contiguity_loss(attention, target, source).item() == pytest.approx(math.log(2), abs=1e-5)
    scattered = attention_of([(0, 0), (1, 3), (2, 0), (3, 3)], sentence(4), sentence(4))
    run = attention_of([(0, 0), (1, 1), (2, 2), (3, 3)], sentence(4), sentence(4))
    losses = [contiguity_loss(attention, sentence(4), sentence(4)).item() for attention in (scattered, run)]
    assert losses[0] == pytest.approx(4 * math.log(2), abs=1e-5) and losses[1] < losses[0]


def test_end_of_sentence_does_not_count() -> None:
    target, source = sentence(2), sentence(2)
    attention = torch.tensor([[[0.2, 0.1, 0.7], [0.1, 0.3, 0.6], [0, 0, 1.0]]])
    # windows of words 0: 0.5·(0.2 + 0.1 + 0.1 + 0.3) = 0.35; of word 1: 0.5·(0.1 + 0.3) = 0.2
    expected = -math.log(0.35) - math.log(0.2)
    assert contiguity_loss(attention, target, source).item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
def test_packed_sentences_have_the_losses_of_single_ones(kernel: int) -> None:
    torch.manual_seed(kernel)
    targets, sources = [[5, 6, 7, 1], [8, 1], [9, 5, 6, 7, 8, 1]], [[9, 8, 1], [7, 6, 5, 1], [4, 3, 1]]
    packed_target = Rows.of(torch.tensor([[*chain(*targets), 0, 0, 0]]))
    packed_source = Rows.of(torch.tensor([[*chain(*sources), 0]]))
    logits = torch.randn(1, packed_target.ids.shape[1], packed_source.ids.shape[1])
    attention = masked_softmax(logits, PairRows(packed_source, packed_target).cells(), 2)
    backward = masked_softmax(logits, PairRows(packed_source, packed_target).cells(), 1)
    alone = torch.zeros(2)
    row = column = 0
    for target, source in zip(targets, sources, strict=True):
        block = slice(row, row + len(target)), slice(column, column + len(source))
        row, column = block[0].stop, block[1].stop
        rows = Rows.of(torch.tensor([target])), Rows.of(torch.tensor([source]))
        alone[0] += contiguity_loss(attention[:, block[0], block[1]], *rows, kernel)
        alone[1] += agreement_loss(attention[:, block[0], block[1]], backward[:, block[0], block[1]], *rows)
    together = torch.stack(
        [
            contiguity_loss(attention, packed_target, packed_source, kernel),
            agreement_loss(attention, backward, packed_target, packed_source),
        ]
    )
    torch.testing.assert_close(together, alone)


def test_agreement_by_hand() -> None:
    target, source = sentence(1), sentence(2)
    forward = torch.tensor([[[0.6, 0.3, 0.1], [0, 0, 1.0]]])
    backward = torch.tensor([[[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]]])
    # the word: 0.6·0.9 + 0.3·0.5 = 0.69; the two source words: 0.54 and 0.15
    expected = -math.log(0.69) - math.log(0.54) - math.log(0.15)
    assert agreement_loss(forward, backward, target, source).item() == pytest.approx(expected, rel=1e-5)


def test_guided_loss_by_hand() -> None:
    target, source = sentence(3), sentence(2)
    attention = torch.tensor([[[0.7, 0.2, 0.1], [0.25, 0.25, 0.5], [0.4, 0.4, 0.2], [0.3, 0.3, 0.4]]])
    links = torch.zeros(1, 4, 3, dtype=torch.bool)
    links[0, 0, 0] = True  # one link
    links[0, 1, :2] = True  # two share the mass
    # the third word has none and belongs to end-of-sentence; the target's own end-of-sentence does not count
    expected = -math.log(0.7) - 0.5 * (math.log(0.25) + math.log(0.25)) - math.log(0.2)
    loss = guided_loss(attention.log(), PairRows(source, target).cells(), links, target, source)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_guided_loss_of_packed_rows_has_finite_gradients() -> None:
    target, source = Rows.of(torch.tensor([[5, 1, 6, 7, 1, 0]])), Rows.of(torch.tensor([[5, 6, 1, 7, 1]]))
    logits = torch.randn(1, 6, 5, requires_grad=True)
    guided_loss(logits, PairRows(source, target).cells(), torch.zeros(1, 6, 5).bool(), target, source).backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    assert (logits.grad[0, 5] == 0).all()
