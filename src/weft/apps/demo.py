"""``weft demo``: a made-up language, a tiny model, and what it has learned, in about a minute on a CPU.

The language has English words, roughly, for meaning and rules of its own for order: adjectives follow their nouns, the
verb stands last, where something happens is said first, and articles are endings. So a model that translates it has
learned to find words that stand elsewhere.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from weft.config import PRESETS, PrepareConfig, Recipe, TrainingConfig
from weft.errors import WeftError
from weft.progress import say

NOUNS = {
    "dog": "kuno", "cat": "felu", "house": "domir", "river": "aluva", "child": "pido", "teacher": "magru",
    "book": "librun", "tree": "arvo", "road": "strado", "bird": "oselin", "king": "regu", "garden": "ortil",
    "ship": "naviro", "letter": "skribun", "mountain": "montar", "window": "vetrin",
}  # fmt: skip
ADJECTIVES = {
    "small": "mika", "old": "vetu", "red": "rudi", "quiet": "tasi", "young": "yuna", "strange": "biza",
    "green": "verdi", "happy": "leta", "heavy": "peza", "bright": "lumi",
}  # fmt: skip
VERBS = {
    "sees": "vidas", "finds": "trovas", "follows": "sekas", "loves": "amas", "reads": "legas", "paints": "pintas",
    "remembers": "memoras", "watches": "gardas", "leaves": "lasas", "builds": "konstas",
}  # fmt: skip
PLACES = {"near": "apud", "behind": "malan", "in": "en", "above": "supra", "under": "sub"}
ARTICLES = {"the": "-la", "a": "-un", "every": "-omni", "this": "-ti"}
ADVERBS = {"today": "odi", "often": "ofte", "never": "nenia", "slowly": "lente"}


def sentence_pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Random sentences in English and in the made-up language."""
    chance = random.Random(seed)

    def noun_phrase() -> tuple[list[str], list[str]]:
        article, noun = chance.choice(list(ARTICLES)), chance.choice(list(NOUNS))
        adjectives = chance.sample(list(ADJECTIVES), chance.choice((0, 0, 1, 1, 2)))
        made_up = [NOUNS[noun] + ARTICLES[article], *(ADJECTIVES[word] for word in reversed(adjectives))]
        return [article, *adjectives, noun], made_up

    for _ in range(count):
        subject, made_up_subject = noun_phrase()
        thing, made_up_thing = noun_phrase()
        verb = chance.choice(list(VERBS))
        english, made_up = [*subject, verb, *thing], [*made_up_subject, *made_up_thing]
        if chance.random() < 0.5:
            place, (where, made_up_where) = chance.choice(list(PLACES)), noun_phrase()
            english += [place, *where]
            made_up = [PLACES[place], *made_up_where, *made_up]
        if chance.random() < 0.4:
            adverb = chance.choice(list(ADVERBS))
            english = [adverb, *english] if adverb == "today" else [*english, adverb]
            made_up += [ADVERBS[adverb]]
        yield " ".join([*english, "."]), " ".join([*made_up, VERBS[verb], "."])


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
        print(f"\n{direction}: {right} of {len(lines)} held-out sentences translated without a fault, such as")
        for line, translation in list(zip(lines, translations, strict=True))[:3]:
            mark = "✓" if translation == line[1 - side] else f"✗ expected: {line[1 - side]}"
            print(f"  {line[side]}\n    → {translation}  {mark}")
    print(f"\nNow try:  echo 'the old king reads a letter in this garden .' | weft translate {models['forward']}")
