"""What the stages that learn from frozen models share: train, or load what was trained."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.config import TrainingConfig
from weft.corpus.packing import PackedRows, RowOrder
from weft.model.rows import PairRows
from weft.progress import Progress
from weft.train.checkpoint import load_weights, save_weights
from weft.train.distributed import Process
from weft.train.loop import Task, Trainer, train

WEIGHTS = "weights.safetensors"  # in the folder of a finished stage


def train_stage(
    name: str,
    module: nn.Module,
    packed: Callable[[], PackedRows],
    task: Callable[[PackedRows], Task],
    training: TrainingConfig,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> Path:
    """Train a module, or load its weights where that was done; then it is ready for use. The file of its weights.

    Rows are packed, and the task is made, only if there is something to train.
    """
    finished = folder / WEIGHTS
    if not load_weights(finished, module, settings):
        rows = packed()
        order = RowOrder.for_budget(rows, training.target_tokens, training.seed, process.rank, process.world)
        trainer = Trainer(task(rows), training, order, process, folder, settings)
        with Progress(visible=process.first) as progress:
            if process.first:
                size = sum(parameter.numel() for parameter in module.parameters())
                going_on = f"; going on from update {trainer.update:,}" if trainer.update else ""
                progress.say(f"{name}: {size:,} parameters{going_on}")
            train(name, [trainer], process, progress)
        if process.first:
            save_weights(finished, module, settings)
        process.wait()
    module.to(process.device).eval()
    return finished


class ResidentRows:
    """The rows of a corpus as tensors."""

    def __init__(self, rows: PackedRows, device: torch.device) -> None:
        # int32: the smallest type that torch can index with, gather from and compare on every device
        self.source = torch.from_numpy(rows.source.astype("int32")).to(device)  # (rows, source length)
        self.target = torch.from_numpy(rows.target.astype("int32")).to(device)

    def pair(self, rows: Tensor) -> PairRows:
        """Some of the rows."""
        return PairRows.of(self.source[rows], self.target[rows])


def trains_in_half(config: TrainingConfig, device: torch.device) -> bool:
    return config.precision == "bfloat16" or (config.precision == "auto" and device.type == "cuda")


def precision(config: TrainingConfig, device: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast(device.type, torch.bfloat16) if trains_in_half(config, device) else nullcontext()
