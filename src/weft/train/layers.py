"""What the stages that train layers on frozen translation models share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from weft.config import TrainingConfig
from weft.progress import Progress
from weft.text.batches import PackedRows, RowOrder
from weft.train.checkpoint import load_weights, save_weights
from weft.train.distributed import Process
from weft.train.loop import Task, Trainer, train


def train_layers(
    name: str,
    layers: nn.ModuleList,
    packed: Callable[[], PackedRows],
    task: Callable[[PackedRows], Task],
    training: TrainingConfig,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> None:
    """Train a layer of each direction, or load them where that was done; then they are ready for use.

    Rows are packed, and the task is made, only if there is something to train.
    """
    finished = folder / "layers.safetensors"
    if not load_weights(finished, layers, settings):
        rows = packed()
        order = RowOrder.for_budget(rows, training.target_tokens, training.seed, process.rank, process.world)
        trainer = Trainer(task(rows), training, order, process, folder, settings)
        with Progress(visible=process.first) as progress:
            if process.first:
                size = sum(parameter.numel() for parameter in layers[0].parameters())
                going_on = f"; going on from update {trainer.update:,}" if trainer.update else ""
                progress.say(f"{name}: {size:,} parameters in each direction{going_on}")
            train(name, [trainer], process, progress)
        if process.first:
            save_weights(finished, layers, settings)
        process.wait()
    layers.to(process.device).eval()
