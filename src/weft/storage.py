"""Folders that a JSON file describes: prepared corpora and models. The file names the format it is of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.errors import WeftError


def read_description(path: Path, form: str, kind: str, remedy: str = "", needs: Sequence[str] = ()) -> dict[str, Any]:
    """The content of the file that makes a folder a ``kind`` of ``form``; ``remedy`` ends every error.

    ``needs`` are the members that it must have.
    """
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise WeftError(f"{path.parent}: not a {kind} (no {path.name}){remedy}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise WeftError(f"{path}: damaged{remedy}") from None
    if not isinstance(described, dict) or described.get("format") != form:
        raise WeftError(f"{path}: not of the format '{form}'{remedy}")
    for name in needs:
        if name not in described:
            raise WeftError(f"{path}: damaged, it has no '{name}'{remedy}")
    return described
