"""What the options of several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import tyro

Output = Annotated[str | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")]
"""The file for a command's results, or None for stdout."""


def choice(shown: str, default: str) -> Any:
    """Describe an option that can be left out; ``default`` says what happens then."""
    return tyro.conf.arg(metavar=shown, help_behavior_hint=f"(default: {default})")
