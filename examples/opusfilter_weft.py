"""weft as a filter of OpusFilter: keeps the sentence pairs that fit together. See docs/adapters.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from opusfilter import CLEAN_HIGH, FilterABC

import weft


class WeftFilter(FilterABC):
    """Accepts pairs whose score, from 0 to 1, is at least ``threshold``."""

    score_direction = CLEAN_HIGH
    accept_threshold = 0
    reject_threshold = 1 + 10**-6

    def __init__(
        self, threshold: float = 0.4, model: str | None = None, raw: bool = True, fast: bool = True, **kwargs: Any
    ) -> None:
        """Load an aligner; ``raw``: the text is not split into words."""
        super().__init__(**kwargs)
        self.threshold = threshold
        self._aligner = weft.load(model, raw=raw, fast=fast)

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Yield how well each pair fits together; one that is too long or has an empty side has 0."""
        for alignment in self._aligner.align(pairs, skip_long=True):
            yield alignment.score

    def accept(self, score: float) -> bool:
        return score >= self.threshold

    def filter(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the accepted pairs. Many are aligned at a time, where OpusFilter would have each scored alone."""
        return self._chosen(pairs, True)

    def filterfalse(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the other pairs."""
        return self._chosen(pairs, False)

    def _chosen(self, pairs: Iterable[tuple[str, str]], wanted: bool) -> Iterator[tuple[str, str]]:
        given, scored = itertools.tee(pairs)
        return (pair for pair, accepted in zip(given, self.decisions(scored), strict=True) if accepted == wanted)
