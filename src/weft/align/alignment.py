"""The alignment of a sentence pair: what an aligner gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from weft.links import Links, format_links
from weft.text.words import Sentence, Span

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
    probabilities: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """Of each link, which is a pair of word numbers: source, target."""
    score: float = 0.0
    """How well the two sentences fit together, from 0 to 1: how sure, on average, each piece of a word is of its best
    counterpart on the other side."""

    @property
    def links(self) -> Links:
        return frozenset(self.probabilities)

    def __str__(self) -> str:
        """Links in Pharaoh format."""
        return format_links(self.probabilities)

    def unaligned(self, side: Side) -> list[int]:
        """The numbers of the words that have no link."""
        place = 0 if side == "source" else 1
        linked = {link[place] for link in self.probabilities}
        return [number for number in range(len(getattr(self, side))) if number not in linked]

    def map_span(self, start: int, end: int, side: Side = "source") -> Span | None:
        """Where the words between two offsets of one side are on the other: from the first to the last of them.

        None if none of them has a link.
        """
        own, other = (self.source, self.target) if side == "source" else (self.target, self.source)
        wanted = set(own.words_in(start, end))
        links = self.probabilities if side == "source" else [(target, source) for source, target in self.probabilities]
        found = [other.spans[there] for here, there in links if here in wanted]
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def reversed(self) -> Alignment:
        """The same with source and target exchanged."""
        turned = {(target, source): probability for (source, target), probability in self.probabilities.items()}
        return replace(self, source=self.target, target=self.source, probabilities=dict(sorted(turned.items())))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from weft.align.formats import matrix

        return matrix(self)
