"""The loss that never holds all logits equals the plain one, gradients included."""

from __future__ import annotations

import math

import pytest
import torch

from weft.model.losses import linear_word_loss, word_loss_reference


@pytest.mark.parametrize("chunk", [0, 1, 7, 40, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_linear_loss_equals_the_reference(chunk: int, smoothing: float) -> None:
    torch.manual_seed(1)
    states = torch.randn(40, 16, dtype=torch.float64, requires_grad=True)
    table = torch.randn(30, 16, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 30, (40,))
    labels[::5] = 0  # padding
    results = []
    for loss in (
        word_loss_reference(states, table, labels, smoothing),
        linear_word_loss(states, table, labels, smoothing, chunk),
    ):
        gradients = torch.autograd.grad(3 * loss.smoothed, (states, table))
        results.append((loss.smoothed.detach().double(), loss.plain.detach().double(), *gradients))
    for plain, fast in zip(*results, strict=True):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-5)


def test_uniform_predictions_cost_the_logarithm_of_the_vocabulary() -> None:
    loss = linear_word_loss(torch.zeros(3, 4), torch.zeros(64, 4), torch.tensor([5, 6, 0]), 0.1)
    assert loss.plain.item() == pytest.approx(2 * math.log(64))
    assert loss.smoothed.item() == pytest.approx(2 * math.log(64))
