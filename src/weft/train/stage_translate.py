"""The stage that trains translation models, in one direction or in both side by side."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.config import Direction, ModelConfig, TrainingConfig
from weft.corpus.packing import PackedRows, RowOrder, pack
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.losses import WordLoss, linear_word_loss
from weft.model.torch_folder import load_translation, save_translation
from weft.model.translation import TranslationModel
from weft.progress import Progress
from weft.recipe import StartConfig
from weft.storage import checksum_of
from weft.text.subwords import PAD, Subwords
from weft.train.checkpoint import binding_settings, compare_settings
from weft.train.distributed import Process, environment
from weft.train.loop import Trainer, train
from weft.train.task import ResidentRows, precision, trains_in_half


class TranslationTask:
    """Predict every target word from the source sentence and the words before it."""

    figures: tuple[str, ...] = ("plain_loss",)

    def __init__(self, model: TranslationModel, rows: PackedRows, config: TrainingConfig, device: torch.device) -> None:
        self.module = model.to(device).train()
        self.smoothing = config.label_smoothing
        self._rows = ResidentRows(rows, device)
        self._precision = precision(config, device)
        self._dtype = torch.bfloat16 if trains_in_half(config, device) else torch.float32
        if config.compile == "yes" or (config.compile == "auto" and device.type == "cuda"):
            model.compile_parts()

    def begin(self, fraction: float) -> None:
        """Nothing changes while training goes on."""

    def word_loss(self, states: Tensor, labels: Tensor) -> WordLoss:
        """Of decoder states (batch, target, width) that are to predict ``labels`` (batch, target)."""
        states = states.to(self._dtype).flatten(0, 1)
        return linear_word_loss(states, self.module.table, labels.flatten(), self.smoothing)

    def sums(self, rows: Tensor) -> Tensor:
        pair = self._rows.pair(rows)
        with self._precision:
            states = self.module(pair.source, pair.target)
        loss = self.word_loss(states, pair.target.ids)
        return torch.stack([loss.smoothed, (pair.target.ids != PAD).sum().float(), loss.plain])

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Losses say it all."""


def train_translation(
    corpus: PreparedCorpus,
    model_config: ModelConfig,
    config: TrainingConfig,
    directions: tuple[Direction, ...],
    start: StartConfig,
    run: Path,
    process: Process,
) -> dict[Direction, Path]:
    """Train, or go on training, the models of ``directions``; the folders of the finished models."""
    models = {direction: run / direction / "model" for direction in directions}
    starts = {direction: Path(getattr(start, direction)) for direction in directions if getattr(start, direction)}
    settings = {
        direction: {
            "corpus": corpus.checksum,
            "direction": direction,
            **({"start": checksum_of(starts[direction] / "model.safetensors")[:16]} if direction in starts else {}),
            **binding_settings(model=model_config, training=config),
        }
        for direction in directions
    }
    unfinished = [direction for direction in directions if not _finished(models[direction], settings[direction])]
    if not unfinished:
        return models
    with Progress(visible=process.first) as progress:
        packed = pack(corpus.source, corpus.target, config.row_length, config.seed)
        trainers = {}
        for direction in unfinished:
            rows = packed if direction == "forward" else packed.swapped()
            torch.manual_seed(config.seed)
            model = TranslationModel(model_config, len(corpus.subwords))
            if direction in starts:
                begin_from(model, corpus.subwords, starts[direction])
            task = TranslationTask(model, rows, config, process.device)
            order = RowOrder.for_budget(rows, config.target_tokens, config.seed, process.rank, process.world)
            trainers[direction] = Trainer(task, config, order, process, run / direction, settings[direction])
            if process.first:
                progress.say(_introduction(direction, trainers[direction], model, rows))
        train("translation", list(trainers.values()), process, progress)
    if process.first:
        for direction, trainer in trainers.items():
            _export(models[direction], trainer, corpus, model_config, direction, settings[direction])
    process.wait()
    return models


def begin_from(model: TranslationModel, subwords: Subwords, folder: Path) -> None:
    """Give a new model the weights of a finished one, and its embeddings for the pieces that both of them know."""
    other = load_translation(folder, torch.device("cpu"))
    if dataclasses.replace(other.model.config, dropout=model.config.dropout) != model.config:
        raise WeftError(f"{folder}: cannot begin from a model of another shape; the table [model] must say its own")
    known = {spelling: number for number, spelling in enumerate(other.subwords.spellings)}
    both = [(number, known[piece]) for number, piece in enumerate(subwords.spellings) if piece in known]
    here, there = torch.tensor(both).T
    embeddings = model.table.detach().clone()
    embeddings[here] = other.model.table[there]
    model.load_state_dict(other.model.state_dict() | {"embedding.words.weight": embeddings})


def _finished(model: Path, settings: dict[str, Any]) -> bool:
    path = model / "config.json"
    if not path.exists():
        return False
    compare_settings(path, json.loads(path.read_text(encoding="utf-8"))["training"]["settings"], settings)
    return True


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


def _export(
    folder: Path,
    trainer: Trainer,
    corpus: PreparedCorpus,
    config: ModelConfig,
    direction: Direction,
    settings: dict[str, Any],
) -> None:
    module = trainer.task.module
    averaged = trainer.config.average > 1
    weights = trainer.checkpoints.averaged_weights(module) if averaged else module.state_dict()
    training = {
        "updates": trainer.update,
        "seconds": trainer.seconds,
        "environment": environment(trainer.process.device),
        "settings": settings,
    }
    save_translation(folder, weights, config, corpus.subwords, direction, training)
