"""A recipe for a user's own parallel text: settings by its size and by the machine, and how long training takes.

Less text gets fewer merges and more dropout; a CPU gets a smaller model, which learns from less of it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from weft.config import (
    PRESETS,
    AlignmentConfig,
    CorpusConfig,
    EncoderConfig,
    GuidedConfig,
    PrepareConfig,
    ScorerConfig,
    TextConfig,
    TrainingConfig,
)
from weft.config_io import with_settings
from weft.errors import WeftError
from weft.progress import say
from weft.recipe import Recipe, overridden
from weft.text.reading import Corpus
from weft.train.estimate import shown_time, training_minutes
from weft.train.stages import ALIGNER

_EPOCHS = 30  # more of them did not help (EXPERIMENTS.md)
_MOST_TOKENS = {"cuda": 360_000_000, "cpu": 7_000_000}  # to learn translation from: 10,000 updates; about half an hour
_UPDATE_TOKENS = {"cuda": 36_000, "cpu": 3_000}
_LEAST_UPDATES = 500
_PIECES_PER_WORD = 1.2  # with 16,000 merges, on Europarl
# Pairs to learn from: as in the shipped recipes on a GPU, and what two cores read in some minutes.
_GUIDED_PAIRS = {"cuda": 340_000, "cpu": 10_000}
_LEXICON_PAIRS = {"cuda": 30_000, "cpu": 10_000}
_SCORER_PAIRS = {"cuda": 0, "cpu": 60_000}  # 0: all


@dataclass(frozen=True)
class TextSize:
    """How much parallel text there is."""

    pairs: int
    words: int
    """On the target side."""

    @classmethod
    def of(cls, corpus: Corpus) -> TextSize:
        """Count lines, and words between spaces."""
        pairs = words = 0
        for block in corpus.blocks():
            pairs += len(block.source)
            if block.target is None:
                words += sum(len(line.split()) for line in block.source) // 2
            else:
                words += sum(len(line.split()) for line in block.target)
        return cls(pairs, words)

    @property
    def pieces(self) -> float:
        return self.words * _PIECES_PER_WORD


def own_recipe(files: Sequence[str], settings: Sequence[str]) -> Recipe:
    """Choose a recipe for the text of one file or two, with ``settings`` such as training.updates=500 put over it.

    Says what was chosen, once if several processes train together.
    """
    if not 1 <= len(files) <= 2:
        raise WeftError("give a recipe, or text as one file or as two, source and target (docs/training.md)")
    if "-" in files:
        raise WeftError("text to train on is read more than once: give files, not stdin")
    of_text = with_settings(CorpusConfig(), [one for one in settings if one.startswith("languages=")])
    size = TextSize.of(Corpus.of(files, languages=of_text.languages))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    run = f"runs/{Path(files[0]).name.split('.')[0]}"
    recipe = overridden(recipe_for_text(files, run, size, gpu=device.type == "cuda"), settings)
    if os.environ.get("RANK", "0") == "0":
        say(describe(recipe, size, device))
    return recipe


def recipe_for_text(files: Sequence[str], run: str, size: TextSize, gpu: bool) -> Recipe:
    """Choose a recipe of all stages for text in one file or in two, with our options besides the paper's method."""
    device, preset = ("cuda", "paper") if gpu else ("cpu", "small")
    tokens = _UPDATE_TOKENS[device]
    updates = max(_LEAST_UPDATES, int(min(_EPOCHS * size.pieces, _MOST_TOKENS[device]) / tokens))
    dropout = 0.1 if size.pairs >= 500_000 or not gpu else 0.2 if size.pairs >= 50_000 else 0.3
    model = PRESETS[preset]

    def with_updates(training: TrainingConfig, updates: int) -> TrainingConfig:
        often = 1_000 if gpu else 200
        warm_up = min(training.warm_up, updates // 10)
        return dataclasses.replace(
            training, updates=updates, target_tokens=tokens, warm_up=warm_up, checkpoint_every=often
        )

    alignment, guided, scorer = AlignmentConfig(), GuidedConfig(), ScorerConfig()

    return Recipe(
        run=run,
        files=tuple(files) if len(files) == 1 else (),
        source=tuple(files[:1]) if len(files) == 2 else (),
        target=tuple(files[1:]) if len(files) == 2 else (),
        prepare=PrepareConfig(
            text=TextConfig(compatibility=True, plain_punctuation=True),
            merges=16_000 if size.pairs >= 100_000 and gpu else 8_000 if size.pairs >= 20_000 else 4_000,
        ),
        preset=preset,
        model=dataclasses.replace(model, dropout=dropout),
        training=with_updates(TrainingConfig(), updates),
        alignment=dataclasses.replace(
            alignment,
            hidden=model.width,
            agreement=0.5,
            training=with_updates(alignment.training, 1_000 if gpu else 600),
        ),
        guided=dataclasses.replace(
            guided,
            own_word=True,
            whole_target=True,
            heads=model.heads,
            pairs=_GUIDED_PAIRS[device],
            training=with_updates(guided.training, 3_000 if gpu else 600),
        ),
        scorer=dataclasses.replace(
            scorer,
            dropout=dropout,
            fast=scorer.fast if gpu else EncoderConfig(layers=0),  # the small preset is as narrow
            lexicon=_LEXICON_PAIRS[device],
            pairs=_SCORER_PAIRS[device],
            training=with_updates(scorer.training, 4_000 if gpu else 1_200),
        ),
    )


def describe(recipe: Recipe, size: TextSize, device: torch.device) -> str:
    """Say what was chosen, and how long it will take."""
    estimate = training_minutes(recipe, size.pairs, size.pieces, device)
    kinds = ", ".join(f"{kind} {shown_time(needed)}" for kind, needed in estimate.items())
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    return (
        f"{size.pairs:,} sentence pairs, {size.words:,} target words: preset {recipe.preset}, dropout "
        f"{recipe.model.dropout}, {recipe.prepare.merges:,} merges, {recipe.training.updates:,} updates\n"
        f"about {shown_time(sum(estimate.values()))} on {where} ({kinds}); the same command goes on after a kill\n"
        f"the aligner will be in {Path(recipe.run) / ALIGNER}"
    )
