"""``weft demo``: the whole road, from text to an aligner, on a made-up language whose links are known."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Annotated

import tyro

from weft.config import (
    PRESETS,
    AlignmentConfig,
    EncoderConfig,
    GuidedConfig,
    PrepareConfig,
    ScorerConfig,
    TrainingConfig,
)
from weft.corpus.made_up import examples, sentence_pairs
from weft.errors import WeftError
from weft.links import format_links
from weft.progress import say
from weft.recipe import GoldConfig, Recipe
from weft.storage import write_text


def demo(
    folder: Annotated[Path, tyro.conf.Positional] = Path("weft-demo"),
    /,
    *,
    pairs: int = 20_000,
    updates: int = 500,
    force: bool = False,
) -> None:
    """Train a tiny aligner on a made-up language, score every stage, and show a sentence pair; two minutes on a CPU.

    Args:
        folder: Where everything goes: text, prepared corpus, models, picture.
        pairs: Sentence pairs to make.
        updates: Updates of the translation models; the layers get fewer.
        force: Start again in a folder that exists.
    """
    run_demo(folder, pairs, updates, force)


_GOLD_PAIRS = 300
_TEXT, _GOLD = "text.tsv", ("gold.source", "gold.target", "gold.links")
_RUN, _PICTURE = "run", "alignment.svg"


def demo_recipe(folder: Path, updates: int) -> Recipe:
    """Return a recipe for a tiny system that trains in about two minutes on two CPU cores."""

    def training(updates: int) -> TrainingConfig:
        return TrainingConfig(
            updates=updates,
            target_tokens=1_500,
            row_length=64,
            warm_up=50,
            log_every=20,
            checkpoint_every=max(1, updates),
        )

    layers = training(updates * 3 // 5)
    return Recipe(
        run=str(folder / _RUN),
        files=(str(folder / _TEXT),),
        prepare=PrepareConfig(merges=300),
        preset="tiny",
        model=PRESETS["tiny"],
        training=training(updates),
        alignment=AlignmentConfig(hidden=64, agreement=0.5, training=layers),
        guided=GuidedConfig(own_word=True, pairs=4_000, training=layers),
        scorer=ScorerConfig(
            layers=2,
            fast=EncoderConfig(2, 32, 64, 4),
            pairs=8_000,
            training=dataclasses.replace(layers, learning_rate=4e-3),
        ),
        gold=(GoldConfig(*(str(folder / name) for name in _GOLD), base=0),),
    )


def run_demo(folder: Path, pairs: int, updates: int, force: bool) -> None:
    """Make text with known links, train an aligner on the text alone, score every stage, and show a sentence pair."""
    import torch

    from weft.align.pictures import Picture, draw, terminal_grid
    from weft.cli.show import system_panels
    from weft.model.system import AlignmentSystem
    from weft.train.report import Gold
    from weft.train.run import run_recipe

    if folder.exists():
        if not force or not _is_demo(folder):
            raise WeftError(f"{folder}: already exists; choose another folder, or start an old demo again with --force")
        shutil.rmtree(folder)
    _write_text(folder, pairs)
    say(f"{folder / _TEXT}: {pairs:,} sentence pairs in English and a made-up language\n")
    recipe = demo_recipe(folder, updates)
    made = run_recipe(recipe)

    gold = Gold.read(recipe.gold[0])
    system = AlignmentSystem.load(made["system"], torch.device("cpu"))
    picture = Picture(*gold.pairs[0], system_panels(system, gold.pairs[0]), gold.links[0])
    print(terminal_grid(dataclasses.replace(picture, panels=picture.panels[-1:])))
    drawn = folder / _PICTURE
    draw(picture, drawn)
    print(f"\nEvery stage, with its attention: {drawn}")
    pair = "the old king reads a letter . ||| regu-la vetu skribun-un legas ."
    print(f"Now try:  echo '{pair}' | weft align --model {made['aligner']}")


def _write_text(folder: Path, pairs: int) -> None:
    """Write training text, and other sentences with their links."""
    text = (f"{source}\t{target}\n" for source, target in sentence_pairs(pairs, seed=1))
    write_text(folder / _TEXT, "".join(text))
    rows = (
        (" ".join(example.english), " ".join(example.made_up), format_links(example.links))
        for example in examples(_GOLD_PAIRS, seed=2)
    )
    for name, lines in zip(_GOLD, zip(*rows, strict=True), strict=True):
        write_text(folder / name, "".join(f"{line}\n" for line in lines))


def _is_demo(folder: Path) -> bool:
    """Tell whether a folder has the text of a demo, and nothing that is not of a demo."""
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return {_TEXT} <= found <= {_TEXT, *_GOLD, _RUN, _PICTURE}
