"""A tiny model and short trainings for tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from weft.config import AlignmentConfig, GuidedConfig, ModelConfig, OptimisationConfig, TrainingConfig
from weft.corpus.made_up import examples
from weft.corpus.prepared import PreparedCorpus
from weft.links import LinkLine
from weft.recipe import StartConfig
from weft.text.words import Sentence
from weft.train.corrected_pairs import CorrectedPair
from weft.train.distributed import Process
from weft.train.stage_translate import train_translation

MODEL = ModelConfig(width=32, feed_forward=64, heads=4, encoder_layers=1, decoder_layers=1)
TRAINING = TrainingConfig(
    updates=30, target_tokens=800, warm_up=5, log_every=5, checkpoint_every=10, row_length=64, learning_rate=4e-3
)
PROCESS = Process(0, 1, torch.device("cpu"))
SHORT = dataclasses.replace(TRAINING, updates=20, average=2)  # keeps the checkpoint before the last one
ALIGNMENT = AlignmentConfig(hidden=16, agreement=0.5, least_agreement=0.0, training=SHORT)
GUIDED = GuidedConfig(own_word=True, pairs=200, training=SHORT)
STEPS = OptimisationConfig(steps=2, step_size=0.3)


def layers(folder: Path) -> dict[str, Tensor]:
    """Read the weights of a finished part."""
    return load_file(folder / "weights.safetensors")


def train_forward(corpus: PreparedCorpus, run: Path, training: TrainingConfig = TRAINING, start: str = "") -> Path:
    """Train a tiny forward model. Returns the folder of the model."""
    train_translation(corpus, MODEL, training, {"forward": run / "forward"}, StartConfig(start), PROCESS)
    return run / "forward" / "model"


Run = Callable[..., dict[str, Tensor]]


def equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    """Whether weights are the same, bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def corrected_pairs(count: int, seed: int) -> list[CorrectedPair]:
    """Return pairs of the made-up language with their right links."""
    return [
        CorrectedPair(
            Sentence.from_words(one.english), Sentence.from_words(one.made_up), LinkLine("", one.links, one.links)
        )
        for one in examples(count, seed)
    ]
