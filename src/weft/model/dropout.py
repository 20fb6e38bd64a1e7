"""Dropout whose randomness is a function of what is dropped.

Whether an element is dropped depends on the key of the update, the layer, the row of the batch and the place in it, and
on nothing else. So there is no generator whose state would have to be saved, a resumed run drops the same elements, and
so do two processes that share a batch. It is also cheaper on a GPU: a short integer hash that is computed again in the
backward pass instead of a mask that is stored.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout of (batch, length, width) tensors."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.key = torch.zeros(2, dtype=torch.int32)  # of the update; number of the first row of the batch
        self.salt = 0

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return states
        rows, length, width = states.shape
        row = torch.arange(rows, device=states.device, dtype=torch.int32) + self.key[1]
        place = torch.arange(length * width, device=states.device, dtype=torch.int32)
        number = row[:, None] * (length * width) + place  # wraps around, which is fine for a hash
        keep = uniform(number + uniform(self.key[0] + self.salt)) >= round(self.probability * 2**32) - 2**31
        return torch.where(keep.view(rows, length, width), states * (1 / (1 - self.probability)), 0)


def share_key(module: nn.Module, device: torch.device) -> Tensor:
    """Give all dropout layers of a module one key, a tensor to be set before each update, and each its own salt."""
    key = torch.zeros(2, dtype=torch.int32, device=device)
    layers = [layer for layer in module.modules() if isinstance(layer, Dropout)]
    for number, layer in enumerate(layers, 1):
        layer.key, layer.salt = key, number * 0x3C6EF372
    return key


def uniform(number: Tensor) -> Tensor:
    """Hash 32-bit integers to uniformly distributed ones (Wellons' "lowbias32")."""
    number = (number ^ ((number >> 16) & 0xFFFF)) * 0x7FEB352D
    number = (number ^ ((number >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return number ^ ((number >> 16) & 0xFFFF)
