"""What the options of several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from weft.config_io import is_setting

_WITH_SETTINGS = {"train", "tune", "prepare"}
_WITHOUT_VALUE = {"--force", "--plan"}  # options of these commands

Output = Annotated[str | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")]
"""The file for a command's results, or None for stdout."""


def choice(shown: str, default: str) -> Any:
    """Describe an option that can be left out; ``default`` says what happens then."""
    return tyro.conf.arg(metavar=shown, help_behavior_hint=f"(default: {default})")


def settings_first(arguments: Sequence[str]) -> list[str]:
    """Put settings such as training.updates=500 right after the command, so that they may also follow options."""
    if not arguments or arguments[0] not in _WITH_SETTINGS:
        return list(arguments)
    command, *rest = arguments
    settings, others = [], []
    for before, argument in zip(arguments, rest, strict=False):
        is_value = before.startswith("-") and before not in _WITHOUT_VALUE
        (settings if is_setting(argument) and not is_value else others).append(argument)
    return [command, *settings, *others]
