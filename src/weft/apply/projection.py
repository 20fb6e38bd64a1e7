"""Carry labels from a sentence to its translation: labels of spans, and labels of single words."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from weft.align.alignment import Alignment
from weft.align.windowed import AlignsPairs, pass_over
from weft.apply.spans import STRENGTH, Run, counterparts, shares, with_copies
from weft.text.units import Span
from weft.text.words import Sentence, Text

_AHEAD = 4_096  # sentences that are read at a time
_MOST_LABELS = 2_000  # of a sentence that is short enough to be aligned


class Label(NamedTuple):
    """A label of the characters from ``start`` to ``end``."""

    start: int
    end: int
    label: Any
    layer: str = ""
    """Labels of one layer that do not overlap will not overlap in the translation."""


@dataclass(frozen=True)
class Labelled:
    """A sentence with labels, and its translation, which gets them.

    A side is running text, a list of words, or a ``Sentence``. Labels have offsets in the text; that of a list of words
    has a space between them. If the translation has words, its labels begin and end with them.
    """

    source: Text
    labels: Sequence[Label]
    target: Text
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Layers that label each word of the source."""


class Projected(NamedTuple):
    """The labels of a translation."""

    source: Sentence
    target: Sentence
    places: list[Label | None]
    """For each label of the source, where it is in the translation, or None."""
    strengths: list[float]
    """How sure each place is, from 0 to 1."""
    tags: dict[str, list[str | None]]
    """Layers that label each word, or None for a word without a link."""

    @property
    def labels(self) -> list[Label]:
        """The labels that were found."""
        return [place for place in self.places if place]


class _Words(NamedTuple):
    """A sentence in words as ``weft align --raw`` finds them, cut where tokens and labels begin and end."""

    sentence: Sentence
    given: Sentence  # with the user's tokens
    tokens: list[int]  # of each word


def project(aligner: AlignsPairs, sentences: Iterable[Labelled], strength: float = STRENGTH) -> Iterator[Projected]:
    """Carry the labels of sentences to their translations. Yields the labels of each translation, in order.

    A label is left out if its ``strength``, from 0 to 1, is less than this. A sentence that is too long has none.
    """
    iterator = iter(sentences)
    while window := list(itertools.islice(iterator, _AHEAD)):
        words = [(_words(one.source, one.labels), _words(one.target, ())) for one in window]
        has_labels = [bool(one.labels or one.tags) for one in window]  # the others need no alignment
        pairs = ((source.sentence, target.sentence) for source, target in itertools.compress(words, has_labels))
        alignments = aligner.stream(pairs, pass_over, matrices=True)
        for one, (source, target), is_needed in zip(window, words, has_labels, strict=True):
            if is_needed:
                yield _projected(one, source, target, next(alignments), strength)
            else:
                yield Projected(source.given, target.given, [], [], {})


def _words(text: Text, labels: Sequence[Label]) -> _Words:
    """Find the words of a sentence, cut where tokens and labels begin and end."""
    if isinstance(text, str):
        given = Sentence.from_text(text, raw=True)
    else:
        given = text if isinstance(text, Sentence) else Sentence.from_words(text)
    words = given if given.raw else Sentence.from_text(given.text, raw=True)
    borders = {*itertools.chain(*given.spans), *(place for label in labels for place in (label.start, label.end))}
    cuts = sorted(borders.difference(itertools.chain(*words.spans)))
    if cuts:
        parts = itertools.chain(*(_parts(span, cuts) for span in words.spans))
        words = Sentence(given.text, tuple(part for part in parts if given.text[slice(*part)].strip()), raw=True)
    starts = [start for start, _ in given.spans]
    return _Words(words, given, [bisect_right(starts, start) - 1 for start, _ in words.spans])


def _parts(span: Span, cuts: list[int]) -> Iterable[Span]:
    """Cut a span at the places that are inside of it."""
    start, end = span
    inside = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
    return itertools.pairwise((start, *inside, end)) if inside else (span,)


def _projected(one: Labelled, source: _Words, target: _Words, alignment: Alignment, strength: float) -> Projected:
    places: list[Label | None] = [None] * len(one.labels)
    strengths = [0.0] * len(one.labels)
    if alignment.matrix is not None and len(one.labels) <= _MOST_LABELS:
        runs = [_run(label, source) for label in one.labels]
        chosen = [number for number, run in enumerate(runs) if run]
        wanted = [run for run in runs if run]
        words = target.sentence.words
        firsts = np.flatnonzero(np.diff(target.tokens, prepend=-1))  # words that begin tokens
        found = counterparts(
            with_copies(alignment.matrix, source.sentence.words, words, wanted),
            wanted,
            [one.labels[number].layer for number in chosen],
            shares(words),
            firsts,
            strength,
        )
        for number, counterpart in zip(chosen, found, strict=True):
            if counterpart:
                (first, last), strengths[number] = counterpart
                start, end = (target.given.spans[target.tokens[firsts[token]]] for token in (first, last - 1))
                places[number] = one.labels[number]._replace(start=start[0], end=end[1])
    tags = _projected_tags(one.tags, source, target, alignment)
    return Projected(source.given, target.given, places, strengths, tags)


def _run(label: Label, words: _Words) -> Run | None:
    """Return the words of a label, without punctuation that is part of the token of its first or last word."""
    numbers = words.sentence.words_in(label.start, label.end)
    if not numbers:
        return None
    solid = [number for number in numbers if not _is_glued(words, number)] or numbers
    return Run(solid[0], solid[-1] + 1)


def _is_glued(words: _Words, number: int) -> bool:
    """Tell whether a word is punctuation that is part of a longer token."""
    shared = [other for other in (number - 1, number + 1) if 0 <= other < len(words.tokens)]
    return not any(map(str.isalnum, words.sentence.words[number])) and any(
        words.tokens[other] == words.tokens[number] for other in shared
    )


def _projected_tags(
    tags: Mapping[str, Sequence[str]], source: _Words, target: _Words, alignment: Alignment
) -> dict[str, list[str | None]]:
    """Give each token of the target the tags of the token that it is linked to most surely."""
    if not tags:
        return {}
    best: dict[int, tuple[float, int]] = {}
    for (first, second), probability in alignment.probabilities.items():
        token = target.tokens[second]
        best[token] = max(best.get(token, (0.0, 0)), (probability, source.tokens[first]))
    return {
        layer: [values[best[token][1]] if token in best else None for token in range(len(target.given))]
        for layer, values in tags.items()
    }
