"""``weft experiments``: the paper's experiments, made again."""

from __future__ import annotations

from typing import Annotated

import tyro


def experiments(
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "reproduction",
    settings: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SETTING=VALUE …]", help_behavior_hint="")
    ] = (),
    /,
) -> None:
    """Make the paper's experiments again and write a report; what is finished is not done again.

    Args:
        file: A TOML file that names language pairs and their recipes; reproduction is the one that comes with weft.
        settings: Put over what the file says, such as output=report.
    """
    from weft.recipe import find_recipe
    from weft.train.paper_report import run_experiments

    run_experiments(find_recipe(file), settings)
