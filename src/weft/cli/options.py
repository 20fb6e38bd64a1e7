"""What the options of several commands share."""

from __future__ import annotations

from typing import Any

import tyro


def choice(shown: str, default: str) -> Any:
    """Describe an option that may be left open; ``default`` tells what happens then."""
    return tyro.conf.arg(metavar=shown, help_behavior_hint=f"(default: {default})")
