"""The batches of a training: gathered in a thread for the updates to come, and put into place for the next one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

_AHEAD = 4  # updates: enough to bridge reads of a disk


class Batches:
    """The batches of a task, one update after the other.

    ``tensors`` are those of the present one, on the device. They stay the same tensors, so that recorded graphs see
    their new content.
    """

    def __init__(self, gather: Callable[[int], Sequence[np.ndarray]], first: int, device: torch.device) -> None:
        """``gather`` returns the arrays of an update, always of the same shapes; ``first`` is the first update."""
        self.tensors: list[Tensor] = []
        self._gather, self._next, self._device = gather, first, device
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[Sequence[np.ndarray]]] = deque()

    def advance(self) -> None:
        """Put the batch of the next update into the tensors. On a GPU the call returns before that is done."""
        while len(self._waiting) <= _AHEAD:
            self._waiting.append(self._thread.submit(self._gather, self._next))
            self._next += 1
        arrays = [torch.from_numpy(array) for array in self._waiting.popleft().result()]
        if not self.tensors:
            self.tensors = [torch.empty_like(array, device=self._device) for array in arrays]
        for tensor, array in zip(self.tensors, arrays, strict=True):
            # Memory is pinned here, not in the thread, which might do so while a graph is recorded, and end that.
            pinned = array.pin_memory() if self._device.type == "cuda" else array
            tensor.copy_(pinned, non_blocking=True)
