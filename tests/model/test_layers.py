"""Rows know their sentences, and attention keeps to them."""

from __future__ import annotations

import torch

from weft.model.layers import attend, sinusoids
from weft.model.rows import Rows, Visible


def test_rows_know_segments_and_places() -> None:
    rows = Rows.of(torch.tensor([[5, 6, 1, 7, 1, 8, 9, 1], [1, 5, 1, 0, 0, 0, 0, 0]]))
    assert rows.segments.tolist() == [[0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 1, -1, -1, -1, -1, -1]]
    assert rows.places.tolist()[0] == [0, 1, 2, 0, 1, 0, 1, 2]
    assert rows.places.tolist()[1][:3] == [0, 0, 1]


def test_mask_by_hand() -> None:
    queries, keys = torch.tensor([[0, 0, 1, -1]]), torch.tensor([[0, 1, 1, -1]])
    free = Visible(queries, keys, causal=False).mask()[0, 0]
    assert free.int().tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]]
    causal = Visible(queries, queries, causal=True).mask()[0, 0]
    assert causal.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]]


def test_attention_by_hand() -> None:
    """Two heads of width 1: with equal scores the context is the mean of the visible values."""
    query, key = torch.zeros(1, 2, 1, 2, 1), torch.zeros(1, 3, 1, 2, 1)
    value = torch.tensor([1.0, 2, 6])[None, :, None, None, None].expand(1, 3, 1, 2, 1)
    visible = Visible(torch.tensor([[0, 1]]), torch.tensor([[0, 0, 1]]), causal=False)
    context = attend(query, torch.cat([key, value], dim=2), visible)
    torch.testing.assert_close(context[0, :, 0, 0], torch.tensor([1.5, 6.0]))


def test_sinusoids() -> None:
    encoding = sinusoids(4, 6)
    torch.testing.assert_close(encoding[0], torch.tensor([0.0, 0, 0, 1, 1, 1]))
    torch.testing.assert_close(encoding[3, 0], torch.tensor(3.0).sin())
    torch.testing.assert_close(encoding[3, 4], torch.tensor(3 / 10_000 ** (1 / 3)).cos())
