"""Which process this is, which device it has, and how processes communicate. Without torchrun there is just one."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

import weft
from weft.errors import WeftError

_PATIENCE = timedelta(days=1)  # others wait while the first process prepares text or writes a model


@dataclass(frozen=True)
class Process:
    """One of ``world`` processes that train together."""

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """The first process writes files and talks to the user."""
        return self.rank == 0

    def sum(self, tensors: list[Tensor]) -> None:
        """Replace tensors by their sums over all processes, in one message."""
        if self.world > 1:
            flat = torch.cat([tensor.flatten() for tensor in tensors])
            dist.all_reduce(flat)
            parts = flat.split([tensor.numel() for tensor in tensors])
            torch._foreach_copy_(tensors, [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)])

    def agree(self, values: list[float]) -> list[float]:
        """Return the first process's values, in all processes."""
        if self.world == 1:
            return values
        shared = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def highest(self, number: int) -> int:
        """Return the highest of all processes' numbers."""
        if self.world == 1:
            return number
        shared = torch.tensor(number, device=self.device)
        dist.all_reduce(shared, op=dist.ReduceOp.MAX)
        return int(shared.item())

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def join_processes() -> Iterator[Process]:
    """Join the processes that torchrun started. Yields this process's place, with a GPU if there is one for it.

    Raises WeftError if the GPU has too little memory for what is done inside.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    try:
        if world > 1:
            dist.init_process_group("nccl" if cuda else "gloo", timeout=_PATIENCE)
        yield Process(rank, world, device)
    except torch.OutOfMemoryError:
        raise WeftError(
            f"{environment(device)['device']} has too little memory; lower target_tokens of the stage (for "
            "translation models training.target_tokens), or choose a smaller preset"
        ) from None
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def environment(device: torch.device) -> dict[str, Any]:
    """Return versions and hardware, for reports."""
    return {
        "weft": weft.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu",
    }
