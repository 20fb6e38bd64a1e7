"""Markup transfer with links that a test gives instead of an aligner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

from weft.align.alignment import Alignment
from weft.align.windowed import WindowedAligner
from weft.apply.markup_transfer import transfer
from weft.text.words import Sentence


class GivenLinks:
    """Stands for an aligner that finds the same links in all pairs, and notes these.

    Links are ``0-0 1-2:0.4``, with probabilities other than 1, between words as they are cut for markup; ``=``: each
    word is linked to that of the same number; None: the pair is too long, and nothing is known.
    """

    def __init__(self, links: str | None) -> None:
        self._links = links
        self.pairs: list[tuple[Sentence, Sentence]] = []

    def stream(self, pairs: Iterable[tuple[Sentence, Sentence]], *options: Any, **more: Any) -> Iterator[Alignment]:
        found = list(pairs)
        self.pairs += found
        for source, target in found:
            yield Alignment(source, target, matrix=self._matrix(len(source), len(target)))

    def _matrix(self, rows: int, columns: int) -> np.ndarray | None:
        if self._links is None or self._links == "=":
            return None if self._links is None else np.eye(rows, columns, dtype=np.float32)
        matrix = np.zeros((rows, columns), np.float32)
        for link in self._links.split():
            words, _, probability = link.partition(":")
            source, target = map(int, words.split("-"))
            matrix[source, target] = float(probability or 1)
        return matrix


def transfer_by(links: str | None, source: str, target: str, **options: Any) -> str:
    """Return the target with the markup of the source. Options are those of ``transfer``."""
    aligner = cast(WindowedAligner, GivenLinks(links))
    return next(transfer(aligner, [(source, target)], **options))
