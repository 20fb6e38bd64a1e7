"""weft turns parallel text into word alignments.

    import weft
    aligner = weft.load("de-en")
    for alignment in aligner.align([("das alte Haus", "the old house")]):
        print(alignment)

The package is layered: ``text`` → ``align`` → ``evaluate`` → ``model`` → ``train`` → ``apps``. A module may import from
its own layer and from those before it, never from those after it (``tests/test_imports.py`` keeps it so), and torch
comes in with ``model``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.align.alignment import Alignment
    from weft.align.onnx_aligner import Aligner, load

__version__ = "0.1.0"
__all__ = ["Aligner", "Alignment", "__version__", "load"]

_PLACES = {"Aligner": "weft.align.onnx_aligner", "Alignment": "weft.align.alignment", "load": "weft.align.onnx_aligner"}


def __getattr__(name: str) -> Any:
    """Load what is public when it is first used: ``import weft`` alone takes no time."""
    if name not in _PLACES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_PLACES[name]), name)
