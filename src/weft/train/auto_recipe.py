"""A recipe for parallel text that somebody just has: settings by its size and by the machine, and how long it takes.

Less text gets fewer merges and more dropout; a CPU gets a smaller model, which learns from less of it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from weft.config import (
    PRESETS,
    AlignmentConfig,
    EncoderConfig,
    GuidedConfig,
    PrepareConfig,
    ScorerConfig,
    TextConfig,
    TrainingConfig,
)
from weft.errors import WeftError
from weft.progress import say
from weft.recipe import Recipe, overridden
from weft.text.reading import Corpus

_EPOCHS = 30  # as long as more of them help
_PIECES_PER_WORD = 1.2
# How much of the speed of a large matrix product the stages reach.
_SHARE_OF_SPEED = {
    "cuda": {"translate": 0.21, "align": 0.11, "links": 0.10, "guide": 0.06, "distil": 0.066},
    "cpu": {"translate": 0.5, "align": 0.5, "links": 0.5, "guide": 0.3, "distil": 0.3},
}


@dataclass(frozen=True)
class TextSize:
    """How much parallel text there is."""

    pairs: int
    words: int
    """On the target side."""

    @classmethod
    def of(cls, corpus: Corpus) -> TextSize:
        """Count lines, and what stands between spaces."""
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
    """A recipe for the text of one file or two, with ``settings`` such as training.updates=500 put over our choices.

    Says what was chosen.
    """
    if not 1 <= len(files) <= 2:
        raise WeftError("give a recipe, or text as one file or as two, source and target (docs/training.md)")
    if "-" in files:
        raise WeftError("text to train on is read more than once: give files, not stdin")
    corpus = Corpus(files=tuple(files)) if len(files) == 1 else Corpus(source=(files[0],), target=(files[1],))
    size = TextSize.of(corpus)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    run = f"runs/{Path(files[0]).name.split('.')[0]}"
    recipe = overridden(recipe_for_text(files, run, size, gpu=device.type == "cuda"), settings)
    say(describe(recipe, size, device))
    return recipe


def recipe_for_text(files: Sequence[str], run: str, size: TextSize, gpu: bool) -> Recipe:
    """All stages for text in one file or in two, with our options beside the paper's method."""
    preset = "paper" if gpu else "small"
    tokens = 36_000 if gpu else 3_000
    most = 360_000_000 if gpu else 7_000_000  # target tokens to learn translation from, in each direction
    updates = max(500, int(min(_EPOCHS * size.pieces, most) / tokens))
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
            pairs=340_000 if gpu else 10_000,
            training=with_updates(guided.training, 3_000 if gpu else 600),
        ),
        scorer=dataclasses.replace(
            scorer,
            fast=scorer.fast if gpu else EncoderConfig(layers=0),  # the small preset is as narrow
            lexicon=scorer.lexicon if gpu else 10_000,
            pairs=0 if gpu else 60_000,
            training=with_updates(scorer.training, 4_000 if gpu else 1_200),
        ),
    )


def minutes(recipe: Recipe, size: TextSize, device: torch.device) -> dict[str, float]:
    """About how long each stage takes on a device, from the arithmetic it needs and the speed of matrix products."""
    model, width = recipe.model, recipe.model.width
    encoder = model.encoder_layers * (4 * width**2 + 2 * width * model.feed_forward)
    decoder = model.decoder_layers * (8 * width**2 + 2 * width * model.feed_forward)
    output = (recipe.prepare.merges + 258) * width
    frozen = 2 * 2 * (encoder + decoder)  # operations for a token, in both directions
    student = 2 * 2 * recipe.scorer.layers * (4 * width**2 + 2 * width * model.feed_forward)
    fast = recipe.scorer.fast
    second = 2 * 2 * fast.layers * (4 * fast.width**2 + 2 * fast.width * fast.feed_forward)
    learning = 3 * student + (student + 3 * second if fast.layers else 0)  # backward is twice forward
    guiding = min(recipe.guided.pairs or size.pairs, size.pairs) * size.pieces / max(1, size.pairs)
    reading = min(recipe.scorer.lexicon, size.pairs) * size.pieces / max(1, size.pairs)
    operations = {
        "translate": 2 * 6 * (encoder + decoder + output) * _tokens(recipe.training),
        "align": (frozen + 2 * 4 * output) * _tokens(recipe.alignment.training),
        "links": (frozen + 2 * 4 * output * recipe.bidirectional.steps) * guiding,
        "guide": frozen * _tokens(recipe.guided.training),
        "distil": (frozen + learning) * _tokens(recipe.scorer.training) + frozen * reading,
    }
    speed = _matrix_speed(device)
    shares = _SHARE_OF_SPEED[device.type]
    return {stage: count / (speed * shares[stage]) / 60 for stage, count in operations.items()}


def describe(recipe: Recipe, size: TextSize, device: torch.device) -> str:
    """What was chosen, and how long it will take."""
    estimate = minutes(recipe, size, device)
    stages = ", ".join(f"{stage} {_time(needed)}" for stage, needed in estimate.items())
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    return (
        f"{size.pairs:,} sentence pairs, {size.words:,} target words: preset {recipe.preset}, dropout "
        f"{recipe.model.dropout}, {recipe.prepare.merges:,} merges, {recipe.training.updates:,} updates\n"
        f"about {_time(sum(estimate.values()))} on {where} ({stages}); the same command goes on after a kill\n"
        f"the aligner will be in {Path(recipe.run) / 'aligner'}"
    )


def _tokens(training: TrainingConfig) -> float:
    return training.updates * training.target_tokens


def _time(needed: float) -> str:
    return f"{needed / 60:.1f} h" if needed >= 100 else f"{max(1, round(needed))} min"


def _matrix_speed(device: torch.device) -> float:
    """Operations a second of a large matrix product, in the precision that training uses."""
    side, precision = (8_192, torch.bfloat16) if device.type == "cuda" else (1_024, torch.float32)
    matrix = torch.ones(side, side, dtype=precision, device=device)
    best = float("inf")
    for _ in range(5):
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        product = matrix @ matrix
        product[0, 0].item()  # waits until it is there
        best = min(best, time.perf_counter() - began)
    return 2 * side**3 / best
