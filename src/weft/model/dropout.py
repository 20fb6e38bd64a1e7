"""Dropout whose randomness is a function of what is dropped.

Whether an element is dropped depends on the key of the update, the layer, the row of the batch and the place in it, and
on nothing else. So there is no generator whose state would have to be saved, a resumed run drops the same elements, and
so do two processes that share a batch. It is also cheaper on a GPU: a short integer hash that is computed again in the
backward pass instead of a mask that is stored.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

_LOWERED = 1e4  # logits of dropped cells: far more than logits differ


class Dropout(nn.Module):
    """Dropout of (batch, length, width) tensors."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.key = torch.zeros((), dtype=torch.int32)  # of the update and the layer
        self.first_row = torch.zeros((), dtype=torch.int32)  # where this process's rows begin in the batch

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return states
        return torch.where(self.kept(states), states * (1 / (1 - self.probability)), 0)

    def kept(self, states: Tensor) -> Tensor:
        """Return True for elements that stay. (batch, length, width)"""
        rows, length, width = states.shape
        row = torch.arange(rows, device=states.device, dtype=torch.int32) + self.first_row
        place = torch.arange(length * width, device=states.device, dtype=torch.int32)
        number = row[:, None] * (length * width) + place  # wraps around, which is fine for a hash
        keep = uniform(number + uniform(self.key)) >= round(self.probability * 2**32) - 2**31
        return keep.view(rows, length, width)


class LogitDropout(Dropout):
    """Dropout of attention cells: their logits become so low that any other cell is preferred.

    They do not become -inf, so that a word all of whose cells are dropped still has a distribution.
    """

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return states
        return torch.where(self.kept(states), states, states - _LOWERED)


class DropoutKeys:
    """The keys of all dropout layers of a module, in one tensor on its device."""

    def __init__(self, module: nn.Module, seed: int, first_row: int, device: torch.device) -> None:
        layers = [layer for layer in module.modules() if isinstance(layer, Dropout)]
        self._seed = seed
        self._keys = torch.zeros(len(layers), dtype=torch.int32, device=device)
        start = torch.tensor(first_row, dtype=torch.int32, device=device)
        for layer, key in zip(layers, self._keys, strict=True):
            layer.key, layer.first_row = key, start  # tensors, not numbers: compiled layers take them as input

    def set(self, update: int) -> None:
        """Set the keys for an update."""
        drawn = np.random.default_rng([self._seed, update]).integers(-(2**31), 2**31, len(self._keys), np.int32)
        self._keys.copy_(torch.from_numpy(drawn), non_blocking=True)


def uniform(number: Tensor) -> Tensor:
    """Hash 32-bit integers to uniformly distributed ones (Wellons' "lowbias32")."""
    number = (number ^ ((number >> 16) & 0xFFFF)) * 0x7FEB352D
    number = (number ^ ((number >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return number ^ ((number >> 16) & 0xFFFF)
