"""weft turns parallel text into word alignments.

    import weft
    with weft.load() as aligner:
        for alignment in aligner.align([("das alte Haus", "the old house")]):
            print(alignment)

What weft refuses raises ``weft.WeftError``. The package is layered, ``text`` → ``align`` → ``apply`` → ``model`` →
``train`` → ``cli``: a module imports from its own layer and earlier ones only (``tests/test_imports.py``), and torch
comes in with ``model``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.align.alignment import Alignment
    from weft.align.onnx_aligner import Aligner, load
    from weft.errors import WeftError

__version__ = "1.0.0"
__all__ = ["Aligner", "Alignment", "WeftError", "__version__", "load"]

_MODULES = {
    "Aligner": "weft.align.onnx_aligner",
    "Alignment": "weft.align.alignment",
    "WeftError": "weft.errors",
    "load": "weft.align.onnx_aligner",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``import weft`` alone takes no time."""
    if name not in _MODULES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    globals()[name] = value = getattr(importlib.import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
