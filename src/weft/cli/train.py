"""``weft train``: all stages of a recipe, or of a recipe that weft chooses for a text."""

from __future__ import annotations

import os
from typing import Annotated

import tyro

from weft.cli.options import choice
from weft.config_io import split_settings
from weft.errors import WeftError
from weft.progress import say
from weft.recipe import Stage


def train(
    what: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RECIPE | TEXT … [SETTING=VALUE …]", help_behavior_hint="(required)"),
    ],
    /,
    *,
    until: Annotated[Stage | None, choice("STAGE", "the recipe's last")] = None,
    plan: bool = False,
    force: bool = False,
) -> None:
    """Train an aligner on parallel text (`weft train corpus.de corpus.en`) or by a recipe; goes on where it stopped.

    Args:
        what: Parallel text in one file (also a memory, such as .tmx) or two, or a recipe: a TOML file (docs/training.md
            lists what it may say) or one that comes with weft: multi, de-en, en-fr, ro-en, the last three with -paper;
            then settings that replace what weft chooses or the recipe says, such as run=mine training.updates=500. The
            aligner will be in RUN/aligner. Under torchrun: `torchrun … -m weft train RECIPE`.
        until: Stop after this stage: translate, align, guide, distil.
        plan: Only say what would be done: the stages and how far they are; with text also how long it would take.
        force: Forget checkpoints and start again.
    """
    from weft.recipe import find_recipe, load_recipe

    files, settings = split_settings(what)
    if files and (path := find_recipe(files[0])).suffix == ".toml":
        if len(files) > 1:
            raise WeftError(f"{files[1]}: expected a setting such as training.updates=500 after the recipe")
        recipe = load_recipe(path, settings)
    else:
        from weft.train.auto_recipe import own_recipe

        recipe = own_recipe(files, settings)
    recipe = recipe.until(until)
    if plan:
        from weft.train.stages import Parts

        say(Parts(recipe).overview())
        return
    from weft.train.run import run_recipe

    for name, folder in run_recipe(recipe, force).items():
        if os.environ.get("RANK", "0") == "0":
            say(f"{name}: {folder}")
