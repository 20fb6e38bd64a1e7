"""weft as a word aligner of sil-machine: wherever its library takes a ``WordAligner``. See docs/adapters.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from machine.translation import WordAligner, WordAlignmentMatrix

import weft


class WeftWordAligner(WordAligner):
    """Aligns segments that are lists of words."""

    def __init__(self, model: str | None = None, **options: Any) -> None:
        """Load an aligner; the options are those of ``weft.load``."""
        self._aligner = weft.load(model, **options)

    def align(self, source_segment: Sequence[str], target_segment: Sequence[str]) -> WordAlignmentMatrix:
        """Align one segment; several at a time are faster."""
        return self.align_batch([(source_segment, target_segment)])[0]

    def align_batch(self, segments: Sequence[Sequence[Sequence[str]]]) -> Sequence[WordAlignmentMatrix]:
        """Align segments; one that is too long has no links."""
        pairs = ((source, target) for source, target in segments)
        return [
            WordAlignmentMatrix.from_word_pairs(len(one.source), len(one.target), one.links)
            for one in self._aligner.align(pairs, skip_long=True)
        ]
