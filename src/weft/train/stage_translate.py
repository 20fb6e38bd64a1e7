"""The stage that trains translation models, in one direction or in both side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.config import Direction, ModelConfig, TrainingConfig
from weft.corpus.packing import pack
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.losses import WordLoss, linear_word_loss
from weft.model.rows import PairRows
from weft.model.torch_folder import load_translation, save_translation
from weft.model.translation import TranslationModel
from weft.progress import Progress, say
from weft.recipe import StartConfig
from weft.storage import checksum_of
from weft.text.subwords import PAD, Subwords
from weft.train.distributed import Process, environment
from weft.train.loop import Trainer, train
from weft.train.stages import MODEL, ROWS, binding_settings, finish, is_finished
from weft.train.task import Sums, Task, Text, compile_parts, encoded_sides, pair_rows, trains_in_half

_HELD_OUT_ROWS = 32  # at once


class TranslationTask(Task):
    """Predict every target word from the source sentence and the words before it."""

    figures = ("plain_loss",)

    def __init__(self, model: TranslationModel, text: Text, training: TrainingConfig, device: torch.device) -> None:
        super().__init__(model, text, training, device)
        self.model = model
        self._dtype = torch.bfloat16 if trains_in_half(training, device) else torch.float32

    def prepare(self) -> None:
        super().prepare()
        compile_parts(self.model.parts, self.training, self.device)

    def word_loss(self, pair: PairRows) -> WordLoss:
        """Return the loss of the target words, summed."""
        with self.precision:
            states = self.model(pair.source, pair.target)  # (batch, target, width)
        states = states.to(self._dtype).flatten(0, 1)
        return linear_word_loss(states, self.model.table, pair.target.ids.flatten(), self.training.label_smoothing)

    def sums(self, batch: Sequence[Tensor]) -> Sums:
        pair = PairRows.of(*batch)
        loss, tokens = self.word_loss(pair), (pair.target.ids != PAD).sum()
        return Sums(loss.smoothed, tokens, (loss.plain / tokens,))


def train_translation(
    corpus: PreparedCorpus,
    model_config: ModelConfig,
    training: TrainingConfig,
    folders: dict[Direction, Path],
    start: StartConfig,
    process: Process,
    both_ways: bool = False,
) -> None:
    """Train the models of some directions side by side, as far as that was not done; each in its folder.

    ``both_ways``: each model learns to translate in its own direction and in the other one.
    """
    settings = {
        direction: {
            "corpus": corpus.checksum,
            "direction": direction,
            "both_ways": both_ways,
            "start": _checksum_of_model(getattr(start, direction)),
            **binding_settings(model=model_config, training=training),
        }
        for direction in folders
    }
    unfinished = [one for one, folder in folders.items() if not is_finished(folder, settings[one])]
    if not unfinished:
        return
    text = Text.of(corpus, training, next(iter(folders.values())).parent / ROWS, process)
    trainers: dict[Direction, Trainer] = {}
    with Progress(visible=process.first) as progress:
        for direction in unfinished:
            torch.manual_seed(training.seed)
            model = TranslationModel(model_config, len(corpus.subwords))
            if getattr(start, direction):
                begin_from(model, corpus.subwords, Path(getattr(start, direction)))
            own_text = _in_direction(text, direction, both_ways)
            task = TranslationTask(model, own_text, training, process.device)
            trainers[direction] = Trainer(task, process, folders[direction], settings[direction])
            if process.first:
                progress.say(_introduction(_called(direction, both_ways), trainers[direction]))
        train("translation", list(trainers.values()), process, progress)
    if process.first:
        held_out = _held_out(corpus, training)
        for direction, trainer in trainers.items():
            own_text = None if held_out is None else _in_direction(held_out, direction, both_ways)
            _finish(
                folders[direction], trainer, corpus.subwords, own_text, model_config, direction, settings[direction]
            )
    process.wait()


def _in_direction(text: Text, direction: Direction, both_ways: bool) -> Text:
    if both_ways:
        return text.both_ways()
    return text if direction == "forward" else text.swapped()


def _checksum_of_model(folder: str) -> str:
    return checksum_of(Path(folder) / "model.safetensors")[:16] if folder else ""


def begin_from(model: TranslationModel, subwords: Subwords, folder: Path) -> None:
    """Give a new model the weights of a finished one, and its embeddings of the pieces that both of them know."""
    other = load_translation(folder, torch.device("cpu"))
    if dataclasses.replace(other.model.config, dropout=model.config.dropout) != model.config:
        raise WeftError(f"{folder}: cannot begin from a model of another shape; the table [model] must say its own")
    known = {spelling: number for number, spelling in enumerate(other.subwords.spellings)}
    both = [(number, known[piece]) for number, piece in enumerate(subwords.spellings) if piece in known]
    here, there = torch.tensor(both).T
    embeddings = model.table.detach().clone()
    embeddings[here] = other.model.table[there]
    model.load_state_dict(other.model.state_dict() | {"embedding.words.weight": embeddings})


def _called(direction: Direction, both_ways: bool) -> str:
    return "both directions" if both_ways else direction


def _introduction(name: str, trainer: Trainer) -> str:
    order, rows = trainer.order, trainer.task.text.rows
    tokens = order.batch_rows * rows.target_tokens / len(rows)
    epoch = len(rows) / order.batch_rows
    lines = [
        f"{name}: {trainer.size:,} parameters on {trainer.process.device}; {order.batch_rows} rows or "
        f"{tokens:,.0f} target tokens an update ({rows.padding:.1%} padding), {epoch:,.0f} updates an epoch"
    ]
    if rows.left_out:
        lengths = f"{rows.lengths[0]} + {rows.lengths[1]}"
        lines.append(f"{name}: {rows.left_out:,} pairs do not fit into a row of {lengths} tokens and are left out")
    if trainer.update:
        lines.append(f"{name}: going on from update {trainer.update:,}")
    return "\n".join(lines)


def _finish(
    folder: Path,
    trainer: Trainer,
    subwords: Subwords,
    held_out: Text | None,
    config: ModelConfig,
    direction: Direction,
    settings: dict[str, Any],
) -> None:
    """Write the finished model and, if pairs were held out, its loss on them."""
    averaged = trainer.config.average > 1
    module = trainer.task.module
    weights = trainer.checkpoints.averaged_weights(module) if averaged else module.state_dict()
    figures: dict[str, Any] = {"updates": trainer.update}
    if held_out is not None:
        model = TranslationModel(config, len(subwords))  # a new one, which is not compiled for rows of training
        model.load_state_dict(weights)
        figures["held_out_loss"] = loss = held_out_loss(model, held_out, trainer.config, trainer.process.device)
        name = _called(direction, settings["both_ways"])
        say(f"{name}: −log p is {loss:.3f} a token on {len(held_out.rows.pairs):,} held-out pairs")
    described = {
        "seconds": trainer.seconds,
        "environment": environment(trainer.process.device),
        "settings": settings,
        **figures,
    }
    save_translation(folder / MODEL, weights, config, subwords, direction, described)
    finish(folder, settings, trainer.seconds, **figures)


@torch.no_grad()
def held_out_loss(model: TranslationModel, text: Text, training: TrainingConfig, device: torch.device) -> float:
    """Return −log p of a target token of a text, without dropout."""
    task = TranslationTask(model.to(device).eval(), text, training, device)
    losses = []
    for first in range(0, len(text.rows), _HELD_OUT_ROWS):
        rows = np.arange(first, min(first + _HELD_OUT_ROWS, len(text.rows)))
        losses.append(task.word_loss(pair_rows(text.rows, rows, device)).plain)
    return torch.stack(losses).sum().item() / text.rows.target_tokens


def _held_out(corpus: PreparedCorpus, training: TrainingConfig) -> Text | None:
    """Return the pairs that were held out of training, or None if there are none that fit into a row."""
    lines = corpus.held_out.read_text(encoding="utf-8").split("\n")
    columns = (line.split("\t") for line in lines if line)
    sides = encoded_sides(((source, target) for source, target in columns), corpus.subwords)
    if not ((sides[0].lengths < training.row_length) & (sides[1].lengths < training.row_length)).any():
        return None
    return Text(partial(pack, *sides, training.row_length))
