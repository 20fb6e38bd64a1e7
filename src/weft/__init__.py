"""weft turns parallel text into word alignments.

The package is layered: ``text`` → ``align`` → ``evaluate`` → ``model`` → ``train`` → ``apps``. A module may import from
its own layer and from those before it, never from those after it (``tests/test_imports.py`` keeps it so), and torch
comes in with ``model``.
"""

__version__ = "0.1.0"
