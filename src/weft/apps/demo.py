"""``weft demo``: a made-up language, a tiny model, and what it has learned, in about a minute on a CPU."""

from __future__ import annotations

import shutil
from pathlib import Path

from weft.config import PRESETS, PrepareConfig, Recipe, TrainingConfig
from weft.errors import WeftError
from weft.progress import say
from weft.text.made_up import sentence_pairs


def run_demo(folder: Path, pairs: int, updates: int, force: bool) -> None:
    """Make text, prepare it, train both directions, translate what was held out, and show it."""
    import torch

    from weft.model.folder import ModelFolder
    from weft.model.translator import Translator
    from weft.text.prepared import open_prepared
    from weft.train.recipe import run_recipe

    if folder.exists():
        if not force or not (folder / "text.tsv").is_file():
            raise WeftError(f"{folder}: already exists; choose another folder, or start an old demo again with --force")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    text = folder / "text.tsv"
    text.write_text("".join(f"{source}\t{target}\n" for source, target in sentence_pairs(pairs, 1)), encoding="utf-8")
    say(f"{text}: {pairs:,} sentence pairs in English and a made-up language\n")

    recipe = Recipe(
        run=str(folder / "run"),
        files=(str(text),),
        prepare=PrepareConfig(merges=300, hold_out=min(200, pairs // 10)),
        preset="tiny",
        model=PRESETS["tiny"],
        training=TrainingConfig(
            updates=updates, target_tokens=1_500, warm_up=50, log_every=20, checkpoint_every=updates or 1
        ),
    )
    models = run_recipe(recipe)

    held_out = open_prepared(folder / "run" / "corpus").held_out
    lines = [line.split("\t") for line in held_out.read_text(encoding="utf-8").splitlines()]
    for (direction, path), side in zip(models.items(), (0, 1), strict=True):
        translator = Translator(ModelFolder(path).load(torch.device("cpu")), beam=4)
        translations = list(translator.translate(line[side] for line in lines))
        right = sum(translation == line[1 - side] for translation, line in zip(translations, lines, strict=True))
        print(f"\n{direction}: {right} of {len(lines)} held-out sentences translated without a fault")
        print("(some have a word of which the other side says nothing, 'well' or 'ka'), such as")
        for line, translation in list(zip(lines, translations, strict=True))[:3]:
            mark = "✓" if translation == line[1 - side] else f"✗ expected: {line[1 - side]}"
            print(f"  {line[side]}\n    → {translation}  {mark}")
    print(f"\nNow try:  echo 'the old king reads a letter in this garden .' | weft translate {models['forward']}")
