"""Which process this is, which device it has, how processes talk, who may use a folder, and how signals end them.

Without torchrun there is just one process. SIGTERM and Ctrl-C save first if there is something to save, else they end
the program at once.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

import weft
from weft.errors import WeftError
from weft.progress import say
from weft.storage import used_alone

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


_AT_ONCE = "stopped; the same command goes on from the last checkpoint"


@contextmanager
def stop_signals(worth_saving: Callable[[], bool]) -> Iterator[Callable[[], int]]:
    """Collect SIGTERM and Ctrl-C. Yields a function that tells which of them came, or 0.

    A signal ends the program at once if nothing is worth saving, or if it is the second one.
    """
    received: list[int] = []

    def receive(number: int, _: object) -> None:
        if received or not worth_saving():
            say(_AT_ONCE)
            raise SystemExit(128 + number)
        received.append(number)

    with _handled(receive):
        yield lambda: received[0] if received else 0


def end_at_once(process: Process) -> AbstractContextManager[Any]:
    """Let SIGTERM and Ctrl-C end the program with one line: for work that would be done again in any case.

    If several processes train together, signals have their default effect, because a process that waits for the others
    does not run Python, which this needs.
    """
    return stop_signals(lambda: False) if process.world == 1 else nullcontext()


def alone_in(folder: Path, doing: str, process: Process) -> AbstractContextManager[Any]:
    """Keep other programs out of a folder while the processes of this one are ``doing`` something in it."""
    return used_alone(folder, doing) if process.first else nullcontext()


@contextmanager
def _handled(receive: Callable[[int, object], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    previous = {number: signal.signal(number, receive) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
