"""A tiny model and a short training for tests."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from weft.config import ModelConfig, TrainingConfig

MODEL = ModelConfig(width=32, feed_forward=64, heads=4, encoder_layers=1, decoder_layers=1)
TRAINING = TrainingConfig(
    updates=30, target_tokens=800, warm_up=5, log_every=5, checkpoint_every=10, row_length=64, learning_rate=4e-3
)

Run = Callable[..., dict[str, Tensor]]


def equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    """Whether weights are the same, bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
