"""Where the elements of a source segment belong in its translation.

With S the words inside an element and p(s, t) the probability of a link, a target word t is worth

    gain(t) = Σ over s in S of p(s, t) − Σ over s not in S of p(s, t)

to the element, and its place is the stretch of target words with the greatest sum of gains. Elements inside another one
are placed inside its stretch, and elements side by side have stretches that do not meet. What stands word for word in
the translation as well, such as a name, is where it stands. A tag without content is placed where it is crossed by the
least probability: between the translations of what is before it and of what is after it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from weft.apply.markup import Element
from weft.text.words import Sentence, Span, raw_word_spans

_FLOOR = 0.25  # probabilities below this count for nothing
_BIAS = 0.05  # that a word must be worth to be taken in
_INSIDE_WORD = 0.1  # what it costs to begin or end inside a word,
_AT_HYPHEN = 0.02  # and at a hyphen
_LIKELY = 0.05  # a probability that is better than none
_LOCAL = 3.0  # words to the side of a tag after which they count 1/e
# Where words are cut: Google|-|Apps, Neu|Land, CO|2.
_PARTS = re.compile(r"[-‐‑/_]|(?<=[^\W\d_A-ZÀ-Þ])(?=[A-ZÀ-Þ])|(?<=[^\W\d_])(?=\d)")


class Stretch(NamedTuple):
    """Target words from ``first`` to before ``last``; none if both are the same."""

    first: int
    last: int


def cut_words(text: str, borders: Sequence[int] = ()) -> Sentence:
    """Return the sentence of a text whose words are cut at hyphens, before capitals and digits, and at ``borders``."""
    spans: list[Span] = []
    places = sorted(set(borders))
    for start, end in raw_word_spans(text):
        cuts = {start, end} | {place for place in places if start < place < end}
        for match in _PARTS.finditer(text, start, end):
            cuts |= {match.start(), match.end()}
        ordered = sorted(cuts)
        spans += itertools.pairwise(ordered)
    return Sentence(text, tuple(spans), raw=True)


def place_elements(
    matrix: np.ndarray | None, source: Sentence, target: Sentence, elements: Sequence[Element], split: bool = False
) -> list[list[Span]]:
    """Return the spans of characters in the target for each element: one, or several if it may be ``split``.

    ``matrix`` has the probabilities of links (source words, target words); None: nothing is known but lengths.
    """
    if matrix is None or not matrix.size:
        matrix = _diagonal(len(source), len(target))
    placer = _Placer(matrix, source, target, elements, split)
    placer.place(None, Stretch(0, len(target)))
    return [
        [placer.characters(element, stretch) for stretch in placer.stretches[number]]
        for number, element in enumerate(elements)
    ]


def _diagonal(rows: int, columns: int) -> np.ndarray:
    """Return probabilities of sentences of which nothing is known but their lengths."""
    places = np.arange(rows) * columns // max(rows, 1)
    return (places[:, None] == np.arange(columns)).astype(np.float32)


class _Placer:
    """Places the elements of one segment, outer ones first."""

    def __init__(
        self, matrix: np.ndarray, source: Sentence, target: Sentence, elements: Sequence[Element], split: bool
    ) -> None:
        self._all, self._matrix = matrix, np.where(matrix >= _FLOOR, matrix, 0)  # (source words, target words)
        self._source, self._target, self._elements, self._split = source, target, elements, split
        self._starts, self._ends = np.array(source.spans, np.int64).reshape(-1, 2).T
        self._source_marks, self._target_marks = _marks(source), _marks(target)
        self._costs = _border_costs(target)
        self._inner: dict[int | None, list[int]] = {}
        for number, element in enumerate(elements):
            self._inner.setdefault(element.parent, []).append(number)
        self.stretches: dict[int, list[Stretch]] = {}

    def place(self, outer: int | None, within: Stretch) -> None:
        """Place all elements inside another one, or those inside none, in a stretch of the target."""
        taken = np.zeros(len(self._target), bool)
        taken[: within.first] = taken[within.last :] = True
        inner = self._inner.get(outer, [])
        waiting = {number: words for number in inner if (words := self._words(number)).any()}
        while waiting:  # the surest first
            found = {number: self._best(number, words, taken, within) for number, words in waiting.items()}
            number = max(found, key=lambda one: found[one][0])
            stretch = found[number][1] or self._between(number, taken, within)
            self.stretches[number] = [stretch, *self._more(waiting.pop(number), stretch, taken)]
            if not self._elements[number].crosses:
                for first, last in self.stretches[number]:
                    taken[first:last] = True
        for number in inner:
            if number not in self.stretches:
                place = self._gap(self._elements[number].start, taken, within)
                self.stretches[number] = [Stretch(place, place)]
        for number in inner:
            self.place(number, self.stretches[number][0])

    def _words(self, number: int) -> np.ndarray:
        """Return which source words an element has. (source words,)"""
        element = self._elements[number]
        return (self._starts < element.end) & (self._ends > element.start)

    def _best(self, number: int, words: np.ndarray, taken: np.ndarray, within: Stretch) -> tuple[float, Stretch | None]:
        """Return the best stretch for an element and what it is worth; None if nothing is worth anything."""
        if words.all() and not taken[within.first : within.last].any() and within.last > within.first:
            return np.inf, within
        gains = self._gains(words)
        copies = [copy for copy in self._copies(number) if not taken[copy.first : copy.last].any()]
        if copies:
            worth, copy = max((max(gains[first:last].sum(), 0), Stretch(first, last)) for first, last in copies)
            return 1 + worth, copy
        worth, stretch = _greatest_sum(gains, self._costs, taken)
        return worth, stretch and self._without_marks(stretch, words)

    def _gains(self, words: np.ndarray) -> np.ndarray:
        """Return what each target word is worth to an element with these source words. (target words,)"""
        return self._matrix[words].sum(0) - self._matrix[~words].sum(0) - _BIAS

    def _copies(self, number: int) -> Iterator[Stretch]:
        """Yield where the text of an element stands in the target, letter by letter."""
        element, text = self._elements[number], self._target.text
        wanted = self._source.text[element.start : element.end].strip()
        if not (wanted.isdigit() or (len(wanted) > 1 and any(map(str.isalpha, wanted)))):
            return
        first_at = {start: number for number, (start, _) in enumerate(self._target.spans)}
        last_at = {end: number for number, (_, end) in enumerate(self._target.spans)}
        place = text.find(wanted)
        while place >= 0:
            first, last = first_at.get(place), last_at.get(place + len(wanted))
            if first is not None and last is not None and self._costs[[first, last + 1]].max() <= _AT_HYPHEN:
                yield Stretch(first, last + 1)
            place = text.find(wanted, place + 1)

    def _without_marks(self, stretch: Stretch, words: np.ndarray) -> Stretch:
        """Leave out punctuation at the ends unless the source words begin or end with some."""
        first, last = stretch
        begin, end = np.flatnonzero(words)[[0, -1]]
        while last - first > 1 and self._target_marks[first] and not self._source_marks[begin]:
            first += 1
        while last - first > 1 and self._target_marks[last - 1] and not self._source_marks[end]:
            last -= 1
        return Stretch(first, last)

    def _more(self, words: np.ndarray, stretch: Stretch, taken: np.ndarray) -> Iterator[Stretch]:
        """Yield other stretches for an element that may be split."""
        if not self._split:
            return
        gains, taken = self._gains(words), taken.copy()
        while True:
            taken[max(stretch.first - 1, 0) : stretch.last + 1] = True  # what touches it is no other stretch
            worth, another = _greatest_sum(gains, self._costs, taken)
            if another is None or worth < _FLOOR:
                return
            yield another
            stretch = another

    def _between(self, number: int, taken: np.ndarray, within: Stretch) -> Stretch:
        """Return a stretch for an element whose words have no link: the likeliest word, or from gap to gap."""
        element = self._elements[number]
        likely = np.where(taken, 0, self._all[self._words(number)].sum(0))
        if likely.max(initial=0) >= _LIKELY:
            return Stretch(int(likely.argmax()), int(likely.argmax()) + 1)
        first = self._gap(element.start, taken, within, last=True)
        last = max(first, self._gap(element.end, taken, within))
        return Stretch(first, last if not taken[first:last].any() else first)

    def _gap(self, place: int, taken: np.ndarray, within: Stretch, last: bool = False) -> int:
        """Return where between the target words a place between source words is: the first such place, or the last."""
        before, after = self._ends <= place, self._starts >= place
        distance = np.arange(len(before)) - before.sum()
        nearness = np.exp(-np.where(before, -1 - distance, distance) / _LOCAL)
        mass_before, mass_after = (nearness * before) @ self._matrix, (nearness * after) @ self._matrix
        crossed = np.concatenate([[0], np.cumsum(mass_after)]) + mass_before.sum()
        crossed -= np.concatenate([[0], np.cumsum(mass_before)])
        inside = np.zeros(len(crossed), bool)  # of the stretch of another element
        inside[1:-1] = taken[1:] & taken[:-1]
        inside[[*range(within.first), *range(within.last + 1, len(crossed))]] = True
        inside[[within.first, within.last]] = False
        crossed[inside] = np.inf
        if within.first == 0 and not before.any():
            return 0
        if within.last == len(taken) and not after.any():
            return len(taken)
        least = np.flatnonzero(crossed <= crossed.min() + 1e-6)
        return int(least[-1 if last else 0])

    def characters(self, element: Element, stretch: Stretch) -> Span:
        """Return the characters of a stretch; white space at its ends goes where it is in the source."""
        text = self._source.text
        space_before = [place == 0 or text[place - 1].isspace() for place in (element.start, element.end)]
        space_after = [place == len(text) or text[place].isspace() for place in (element.start, element.end)]
        (left, begin), (end, right) = self._space(stretch.first), self._space(stretch.last)
        if stretch.last > stretch.first:
            at_start = element.start == stretch.first == 0
            at_end = element.end == len(text) and stretch.last == len(self._target)
            return (left if space_after[0] or at_start else begin), (right if space_before[1] or at_end else end)
        if element.is_span and text[element.start : element.end].isspace():
            return left, begin
        if not space_before[0] or (element.start == 0 and space_after[0]):
            return left, left
        if not space_after[0] or element.start == len(text):
            return begin, begin
        return min(left + 1, begin), min(left + 1, begin)

    def _space(self, place: int) -> Span:
        """Return the characters between two target words."""
        spans = self._target.spans
        return (spans[place - 1][1] if place else 0), (
            spans[place][0] if place < len(spans) else len(self._target.text)
        )


def _marks(sentence: Sentence) -> np.ndarray:
    """Return which words are punctuation. (words,)"""
    return np.array([not any(map(str.isalnum, word)) for word in sentence.words], bool)


def _border_costs(target: Sentence) -> np.ndarray:
    """Return what it costs to begin or end a stretch before each word, and at the end. (words + 1,)"""
    costs = np.zeros(len(target) + 1)
    starts = {start for start, _ in raw_word_spans(target.text)}
    for place, (start, _) in enumerate(target.spans):
        if start not in starts:
            at_hyphen = _PARTS.match(target.text, start) or _PARTS.match(target.text, start - 1)
            costs[place] = _AT_HYPHEN if at_hyphen and at_hyphen[0] else _INSIDE_WORD
    return costs


def _greatest_sum(gains: np.ndarray, costs: np.ndarray, taken: np.ndarray) -> tuple[float, Stretch | None]:
    """Return the stretch of words, none of them taken, with the greatest sum of gains less the costs of its borders."""
    best: tuple[float, Stretch | None] = 0.0, None
    begin, least = -1, np.inf  # the best place to begin, and the sum of all gains before it with its cost
    total = 0.0
    for place, gain in enumerate(gains.tolist()):
        if taken[place]:
            begin, least = -1, np.inf
        elif total + costs[place] <= least:
            begin, least = place, total + costs[place]
        total += gain
        if begin >= 0 and total - costs[place + 1] - least > best[0]:
            best = total - costs[place + 1] - least, Stretch(begin, place + 1)
    return best
