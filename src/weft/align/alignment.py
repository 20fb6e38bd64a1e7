"""The alignment of a sentence pair: what an aligner returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from weft.errors import WeftError
from weft.links import Links, format_links
from weft.text.words import Sentence, Span

if TYPE_CHECKING:
    import numpy as np

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Alignment:
    """Links between the words of two sentences, with probabilities.

    >>> alignment = Alignment(Sentence.from_words(["das", "Haus"]), Sentence.from_words(["the", "house"]),
    ...                       {(0, 0): 0.97, (1, 1): 0.99}, score=0.98)
    >>> print(alignment)
    0-0 1-1
    >>> alignment.map_span(4, 8)
    (4, 9)
    """

    source: Sentence
    target: Sentence
    probabilities: Mapping[tuple[int, int], float] = field(default_factory=dict, hash=False)
    """The probability of each link (source word, target word): the mean of both directions' attention, also if one
    direction alone or a symmetrisation chose the links."""
    score: float = 0.0
    """How well the two sentences fit together, from 0 to 1: each piece's strongest attention to the other side,
    mean over all pieces of words."""
    matrix: np.ndarray | None = field(default=None, compare=False, repr=False)
    """The probability of every pair of words, linked or not (source words, target words), if it was asked for."""

    @cached_property
    def links(self) -> Links:
        """The set of linked (source word, target word)."""
        return frozenset(self.probabilities)

    def __str__(self) -> str:
        """Return the links in Pharaoh format, such as ``0-0 1-2``."""
        return format_links(self.probabilities)

    def unaligned(self, side: Side) -> list[int]:
        """Return the indices of the words without a link."""
        place = 0 if _is_source(side) else 1
        linked = {link[place] for link in self.probabilities}
        return [index for index in range(len(getattr(self, side))) if index not in linked]

    def map_span(self, start: int, end: int, side: Side = "source") -> Span | None:
        """Map the characters from ``start`` to ``end`` of one side to the other.

        Returns the span from the first to the last word that is linked to a word in that range, or None if none is.
        """
        if not _is_source(side):
            return self.reversed().map_span(start, end)
        wanted = set(self.source.words_in(start, end))
        found = [self.target.spans[target] for source, target in self.probabilities if source in wanted]
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def reversed(self) -> Alignment:
        """Return the alignment with source and target exchanged."""
        turned = {(target, source): probability for (source, target), probability in self.probabilities.items()}
        matrix = None if self.matrix is None else self.matrix.T
        return replace(
            self, source=self.target, target=self.source, probabilities=dict(sorted(turned.items())), matrix=matrix
        )

    def _repr_html_(self) -> str:
        """Return the picture that notebooks show."""
        from weft.align.formats import matrix

        return matrix(self)


def _is_source(side: Side) -> bool:
    if side not in ("source", "target"):
        raise WeftError(f"a side is 'source' or 'target', not {side!r}")
    return side == "source"
