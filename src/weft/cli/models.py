"""``weft models``: list the aligners that come with weft, or show the card of one."""

from __future__ import annotations

from typing import Annotated

import tyro

from weft.progress import say


def models(
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]", help_behavior_hint="")] = "", /
) -> None:
    """List the aligners that come with weft, or show the card of one.

    Args:
        name: The one whose card to show, or a model folder.
    """
    show_card(name) if name else list_models()


def list_models() -> None:
    """Print a line for each shipped model: its name, its size and the first paragraph of its card."""
    from weft.align.model_folder import description, shipped_models

    models = shipped_models()
    if not models:
        say("weft: no aligner comes with this version; docs/training.md tells how to train one")
    for name, folder in models.items():
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{name}  {size / 1e6:4.1f} MB  {description(folder)}")


def show_card(name: str) -> None:
    """Print the card of a shipped model or of a model folder."""
    from weft.align.model_folder import card, find_model

    print(card(find_model(name)).rstrip())
