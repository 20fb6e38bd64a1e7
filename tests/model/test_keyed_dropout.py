"""Dropout that is a function of update, layer, row and place."""

from __future__ import annotations

import torch
from torch import nn

from weft.model.layers import Dropout, DropoutKeys, LogitDropout

CPU = torch.device("cpu")


def dropped(layers: nn.Module, update: int, first_row: int = 0, rows: int = 32) -> torch.Tensor:
    DropoutKeys(layers, seed=1, first_row=first_row, device=CPU).set(update)
    return torch.stack([layer(torch.ones(rows, 16, 64)) == 0 for layer in layers.children()])


def test_rate_scale_and_independence() -> None:
    layers = nn.Sequential(Dropout(0.1), Dropout(0.1)).train()
    first, second = dropped(layers, 0).float()
    other_update = dropped(layers, 1)[0].float()
    for mask in (first, second, other_update):
        assert abs(mask.mean() - 0.1) < 0.01
        assert abs(mask.mean((0, 1)) - 0.1).max() < 0.06  # no column is special
    for other in (second, other_update, first.roll(1, 2), first.roll(1, 1), first.roll(1, 0)):
        assert abs((first * other).mean() - 0.01) < 0.003
    kept = layers[0](torch.ones(2, 3, 4))
    assert set(kept.unique().tolist()) <= {0.0, torch.tensor(1 / 0.9).item()}


def test_it_is_a_function_of_the_update_and_of_the_row_in_the_whole_batch() -> None:
    layers = nn.Sequential(Dropout(0.5)).train()
    whole = dropped(layers, 5)
    assert torch.equal(whole, dropped(layers, 5))
    assert torch.equal(whole[:, 20:], dropped(layers, 5, first_row=20, rows=12))


def test_nothing_is_dropped_in_inference() -> None:
    states = torch.randn(2, 3, 4)
    assert torch.equal(Dropout(0.9).eval()(states), states)
    assert torch.equal(Dropout(0.0).train()(states), states)


def test_dropped_logits_lose_to_any_other_but_leave_a_distribution() -> None:
    layer = LogitDropout(0.5).train()
    DropoutKeys(nn.Sequential(layer), seed=1, first_row=0, device=CPU).set(3)
    logits = torch.randn(8, 16, 12)
    kept = layer.kept(logits)
    found = layer(logits)
    assert 0.4 < kept.float().mean() < 0.6
    assert torch.equal(found[kept], logits[kept]) and (found[~kept] < logits.min()).all()
    attention = found.softmax(2)
    some = kept.any(2, keepdim=True)
    assert (attention[~kept & some] == 0).all()
    alone = LogitDropout(0.999).train()(torch.randn(1, 4, 3)).softmax(2)
    assert torch.isfinite(alone).all() and torch.allclose(alone.sum(2), torch.ones(1, 4))
    assert torch.equal(LogitDropout(0.5).eval()(logits), logits)
