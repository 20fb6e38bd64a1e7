"""The stage that trains translation models, in one direction or in both side by side."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor

from weft.config import Direction, ModelConfig, TrainingConfig, to_dict
from weft.model.folder import ModelFolder
from weft.model.losses import WordLoss, linear_word_loss
from weft.model.translation import TranslationModel
from weft.progress import Progress
from weft.text.batches import PackedRows, RowOrder, pack
from weft.text.prepared import PreparedCorpus
from weft.train.distributed import Process
from weft.train.loop import Trainer, train
from weft.train.runlog import environment

_NOT_BINDING = {"checkpoint_every", "log_every", "compile", "precision"}  # may change when a run is taken up again


class TranslationTask:
    """Predict every target word from the source sentence and the words before it."""

    figures = ("plain_loss",)

    def __init__(self, model: TranslationModel, rows: PackedRows, config: TrainingConfig, device: torch.device) -> None:
        self.module = model.to(device).train()
        self.smoothing = config.label_smoothing
        # int32: the smallest type that torch can index with, gather from and compare on every device
        self.source = torch.from_numpy(rows.source.astype("int32")).to(device)  # (rows, row length)
        self.target = torch.from_numpy(rows.target.astype("int32")).to(device)
        half = config.precision == "bfloat16" or (config.precision == "auto" and device.type == "cuda")
        self._precision = torch.autocast(device.type, torch.bfloat16) if half else nullcontext()
        self._dtype = torch.bfloat16 if half else torch.float32
        compiled = config.compile == "yes" or (config.compile == "auto" and device.type == "cuda")
        if compiled:
            model.compile_parts()

    def word_loss(self, source: Tensor, target: Tensor) -> WordLoss:
        """The loss of rows given as ids (rows, row length)."""
        with self._precision:
            states = self.module(source, target).to(self._dtype)
        return linear_word_loss(states.flatten(0, 1), self.module.table, target.flatten(), self.smoothing)

    def sums(self, rows: Tensor) -> Tensor:
        target = self.target[rows]
        loss = self.word_loss(self.source[rows], target)
        return torch.stack([loss.smoothed, (target != 0).sum().float(), loss.plain])


def train_translation(
    corpus: PreparedCorpus,
    model_config: ModelConfig,
    config: TrainingConfig,
    directions: tuple[Direction, ...],
    run: Path,
    process: Process,
    force: bool = False,
) -> dict[Direction, Path]:
    """Train, or go on training, the models of ``directions``; the folders of the finished models."""
    folders = {direction: run / direction for direction in directions}
    if force and process.first:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)
    process.wait()
    with Progress(visible=process.first) as progress:
        packed = pack(corpus.source, corpus.target, config.row_length, config.seed)
        trainers = {}
        for direction, folder in folders.items():
            rows = packed if direction == "forward" else packed.swapped()
            torch.manual_seed(config.seed)
            model = TranslationModel(model_config, len(corpus.subwords))
            task = TranslationTask(model, rows, config, process.device)
            order = RowOrder.for_budget(rows, config.target_tokens, config.seed, process.rank, process.world)
            settings = _settings(corpus, model_config, config, direction)
            trainers[direction] = Trainer(task, config, order, process, folder, settings)
            if process.first:
                progress.say(_introduction(direction, trainers[direction], model, rows))
        if signal := train(list(trainers.values()), process, progress):
            if process.first:
                update = min(trainer.update for trainer in trainers.values())
                progress.say(f"stopped and saved at update {update:,}; the same command goes on from there")
            raise SystemExit(128 + signal)
    models = {direction: folder / "model" for direction, folder in folders.items()}
    if process.first:
        for direction, trainer in trainers.items():
            _export(models[direction], trainer, corpus, model_config, direction)
    process.wait()
    return models


def _settings(
    corpus: PreparedCorpus, model: ModelConfig, config: TrainingConfig, direction: Direction
) -> dict[str, object]:
    """What has to be the same for a run to be taken up again."""
    training = {f"training.{name}": value for name, value in to_dict(config).items() if name not in _NOT_BINDING}
    shape = {f"model.{name}": value for name, value in to_dict(model).items()}
    return {"corpus": corpus.checksum, "direction": direction, **shape, **training}


def _introduction(direction: str, trainer: Trainer, model: TranslationModel, rows: PackedRows) -> str:
    order = trainer.order
    tokens = order.batch_rows * rows.target_tokens / len(rows)
    epoch = len(rows) / order.batch_rows
    lines = [
        f"{direction}: {model.parameter_count:,} parameters on {trainer.process.device}; {order.batch_rows} rows or "
        f"{tokens:,.0f} target tokens an update ({rows.padding:.1%} padding), {epoch:,.0f} updates an epoch"
    ]
    if rows.left_out:
        lengths = f"{rows.source.shape[1]} + {rows.target.shape[1]}"
        lines.append(f"{direction}: {rows.left_out:,} pairs do not fit into a row of {lengths} tokens and are left out")
    if trainer.update:
        lines.append(f"{direction}: going on from update {trainer.update:,}")
    return "\n".join(lines)


def _export(folder: Path, trainer: Trainer, corpus: PreparedCorpus, config: ModelConfig, direction: Direction) -> None:
    module = trainer.task.module
    averaged = trainer.config.average > 1
    weights = trainer.checkpoints.averaged_weights(module) if averaged else module.state_dict()
    ModelFolder(folder).write(
        weights,
        config,
        corpus.subwords,
        direction,
        training=to_dict(trainer.config)
        | {"updates": trainer.update, "seconds": trainer.seconds, "environment": environment(trainer.process.device)},
    )
