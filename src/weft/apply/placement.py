"""Where the elements of a source segment belong in its translation.

The place of an element is the stretch of target words with the greatest sum of gains (``spans``), less what its borders
cost: inside of a word, and before a small letter if the element begins with a capital, as names of buttons and chapters
do. Elements inside another one are placed inside its stretch, and elements side by side have stretches that do not
meet. What stands word for word in the translation as well, such as a name, is where it stands. Quotation marks that the
translation alone has around a stretch belong to it. A tag without content is placed where it is crossed by the least
probability: between the translations of what is before it and of what is after it, beside that of the word that it
touches.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from weft.apply.elements import Element, Leaning, TagKind
from weft.apply.link_context import in_context
from weft.apply.spans import gains, shares
from weft.apply.word_parts import Copies, Stretch, border_costs
from weft.text.words import Sentence, Span

_FLOOR = 0.15  # probabilities below this do not count
_PART = 0.25  # what a part of an element that is split gains at least
_LIKELY = 0.05  # a probability that is better than none
_NEARNESS = np.exp(-np.arange(20) / 3)  # what words count that are so far to the side of a tag
_SPACES = 10  # in a row that are looked at
_TOUCHED = 0.5  # what it is worth to a tag to be beside the translation of the word that it touches
_SMALL = 0.4  # what it costs an element that begins with a capital to begin before a small letter
_QUOTES = frozenset(("«»", "‹›", "“”", "„“", "‘’", "‚‘", "[]", "「」", "『』", "《》", "【】"))
_QUOTING = frozenset("".join(_QUOTES) + "\"'(")  # what is around a stretch of the source that is quoted already
_OPENING = frozenset(pair[0] for pair in _QUOTES)
_REACH = 8  # words to each side of a stretch among which quotation marks are looked for
_LOST = 0.4  # the most that a stretch may lose by taking in quotation marks: less than a word of others costs


def place_elements(
    matrix: np.ndarray | None, source: Sentence, target: Sentence, elements: Sequence[Element], split: bool = False
) -> list[list[Span]]:
    """Return the spans of characters in the target for each element: one, or several if it may be ``split``.

    ``matrix`` has the probabilities of links (source words, target words); None: nothing is known but lengths.
    """
    if matrix is None or matrix.max(initial=0) < _LIKELY:
        stretches = _by_length(source, target, elements)
    else:
        stretches = _Placer(matrix, source, target, elements, split).place()
    return [
        [_characters(source.text, target, element, stretch) for stretch in found]
        for element, found in zip(elements, stretches, strict=True)
    ]


def _words(source: Sentence, elements: Sequence[Element]) -> list[Stretch]:
    """Return the source words of each element; of one without words, the place between words."""
    starts, ends = ([span[side] for span in source.spans] for side in (0, 1))
    return [
        Stretch(first := bisect_right(ends, element.start), max(first, bisect_left(starts, element.end)))
        for element in elements
    ]


def _by_length(source: Sentence, target: Sentence, elements: Sequence[Element]) -> list[list[Stretch]]:
    """Return where elements are if the target has the words of the source, one after the other."""
    scale = len(target), max(len(source), 1)
    return [
        [Stretch(first * scale[0] // scale[1], last * scale[0] // scale[1])] for first, last in _words(source, elements)
    ]


class _Room(NamedTuple):
    """Where the elements go that are inside another one, or inside none."""

    words: Stretch
    """The source words of what is around them."""
    within: Stretch
    """Its target words."""
    taken: list[bool]
    """Which target words are not free. (target words,)"""
    gaps: dict[tuple[int, Leaning], int]
    """Places that were found for tags, by the source word after them and by how they lean."""

    def is_free(self, stretch: Stretch) -> bool:
        return not any(self.taken[stretch.first : stretch.last])

    def take(self, stretch: Stretch) -> None:
        self.taken[stretch.first : stretch.last] = [True] * (stretch.last - stretch.first)


class _Placer:
    """Places the elements of one segment, outer ones first."""

    def __init__(
        self, matrix: np.ndarray, source: Sentence, target: Sentence, elements: Sequence[Element], split: bool
    ) -> None:
        self._source, self._target, self._elements, self._split = source, target, elements, split
        self._words = _words(source, elements)
        self._matrix = in_context(matrix)  # (source words, target words)
        self._kept = np.where(self._matrix >= _FLOOR, self._matrix, 0)
        self._sums = np.zeros((len(matrix) + 1, len(target)))  # over the source words before each
        np.cumsum(self._kept, axis=0, out=self._sums[1:])
        self._shares = shares(target.words)
        self._costs = border_costs(target)
        self._capital_costs = [
            cost + _SMALL * word[:1].islower() for cost, word in zip(self._costs, target.words, strict=False)
        ]
        self._copies = Copies(source.text, target, self._costs)
        self._inner: dict[int | None, list[int]] = defaultdict(list)
        for number, element in enumerate(elements):
            self._inner[element.parent].append(number)
        self._found: dict[int, list[Stretch]] = {}

    def place(self) -> list[list[Stretch]]:
        """Return the stretches of target words of each element."""
        outer: list[int | None] = [None]
        for number in outer:  # which grows
            self._place_inner(number)
            outer += [one for one in self._inner[number] if one in self._inner]
        return [self._found[number] for number in range(len(self._elements))]

    def _place_inner(self, outer: int | None) -> None:
        """Place all elements inside another one, or those inside none."""
        words = Stretch(0, len(self._source)) if outer is None else self._words[outer]
        within = Stretch(0, len(self._target)) if outer is None else self._found[outer][0]
        taken = [not within.first <= word < within.last for word in range(len(self._target))]
        room, untouched = _Room(words, within, taken, {}), _Room(words, within, taken.copy(), {})
        with_words = [number for number in self._inner[outer] if self._words[number].last > self._words[number].first]
        rooms = {number: untouched if self._elements[number].crosses else room for number in with_words}
        waiting = [self._best(number, rooms[number]) for number in with_words]
        heapq.heapify(waiting)
        while waiting:  # the surest first
            _, number, stretch = heapq.heappop(waiting)
            if stretch is not None and not rooms[number].is_free(stretch):  # one that is surer has a part of it
                heapq.heappush(waiting, self._best(number, room))
                continue
            stretch = stretch or self._between(number, rooms[number])
            self._found[number] = [stretch, *self._more(number, stretch, rooms[number])]
            if not self._elements[number].crosses:
                for one in self._found[number]:
                    room.take(one)
        for number in self._inner[outer]:
            if number not in self._found:
                self._found[number] = [self._place_empty(number, room)]

    def _best(self, number: int, room: _Room) -> tuple[float, int, Stretch | None]:
        """Return what an element loses without its best stretch, as a negative number, and that stretch.

        None if nothing is worth anything.
        """
        element, words = self._elements[number], self._words[number]
        if words == room.words and room.within.last > room.within.first and room.is_free(room.within):
            return -math.inf, number, room.within
        worths = self._gains(words)
        copies = list(filter(room.is_free, self._copies.of(element.start, element.end)))
        if copies:
            copy = max(copies, key=lambda one: sum(worths[one.first : one.last]))
            worth = 1 + max(sum(worths[copy.first : copy.last]), 0)
            return -worth, number, self._with_quotes(copy, words, worths, room)
        begins = self._capital_costs if self._source.words[words.first][:1].isupper() else self._costs
        worth, stretch = _greatest_sum(worths, begins, self._costs, room)
        return -worth, number, stretch and self._with_quotes(self._without_marks(stretch, words), words, worths, room)

    def _gains(self, words: Stretch) -> list[float]:
        """Return what each target word is worth to an element with these source words. (target words,)"""
        inside = self._sums[words.last] - self._sums[words.first]
        return gains(inside, self._sums[-1] - inside, self._shares)[0].tolist()

    def _without_marks(self, stretch: Stretch, words: Stretch) -> Stretch:
        """Leave out punctuation at the ends unless the source words begin or end with some."""
        first, last = stretch
        while last - first > 1 and _is_mark(self._target, first) and not _is_mark(self._source, words.first):
            first += 1
        while last - first > 1 and _is_mark(self._target, last - 1) and not _is_mark(self._source, words.last - 1):
            last -= 1
        return Stretch(first, last)

    def _with_quotes(self, stretch: Stretch, words: Stretch, worths: Sequence[float], room: _Room) -> Stretch:
        """Take in quotation marks around the stretch, or around a little more, if the source words have none."""
        quoted = self._source.words[max(words.first - 1, 0) : words.first + 1]
        if _OPENING.isdisjoint(self._target.text) or not _QUOTING.isdisjoint("".join(quoted)):
            return stretch
        (begin, end), target = room.within, self._target.words
        before = range(stretch.first - 1, max(begin, stretch.first - _REACH) - 1, -1)
        after = range(stretch.last, min(end, stretch.last + _REACH))
        first = next((word for word in before if target[word] in _QUOTING), None)
        last = next((word for word in after if target[word] in _QUOTING), None)
        if first is None or last is None or target[first] + target[last] not in _QUOTES:
            return stretch
        added = [*range(first, stretch.first), *range(stretch.last, last + 1)]
        lost = -sum(worths[word] for word in added[1:-1])
        return stretch if lost > _LOST or any(room.taken[word] for word in added) else Stretch(first, last + 1)

    def _more(self, number: int, stretch: Stretch, room: _Room) -> Iterator[Stretch]:
        """Yield other stretches for an element that may be split."""
        if not self._split:
            return
        worths, room = self._gains(self._words[number]), room._replace(taken=room.taken.copy())
        while True:
            room.take(Stretch(max(stretch.first - 1, 0), min(stretch.last + 1, len(worths))))  # no other may touch it
            worth, another = _greatest_sum(worths, self._costs, self._costs, room)
            if another is None or worth < _PART:
                return
            yield another
            stretch = another

    def _between(self, number: int, room: _Room) -> Stretch:
        """Return a stretch for an element whose words have no link: the likeliest word, or from gap to gap."""
        words = self._words[number]
        likely = np.where(room.taken, 0, self._matrix[words.first : words.last].sum(0))
        if likely.max(initial=0) >= _LIKELY:
            return Stretch(int(likely.argmax()), int(likely.argmax()) + 1)
        first = self._gap(words.first, "left", room)
        between = Stretch(first, max(first, self._gap(words.last, "right", room)))
        return between if room.is_free(between) else Stretch(first, first)

    def _place_empty(self, number: int, room: _Room) -> Stretch:
        """Return the place of an element without words: in a word that both sides have, or in a gap."""
        element = self._elements[number]
        for copy in self._copies.of(element.start, element.end):
            if not all(room.taken[copy.first - 1 : copy.first + 1]):
                return copy
        key = self._words[number].first, element.leans
        if key not in room.gaps:
            room.gaps[key] = self._gap(*key, room)
        return Stretch(room.gaps[key], room.gaps[key])

    def _gap(self, word: int, leans: Leaning, room: _Room) -> int:
        """Return before which target word a tag goes that is before a source word."""
        taken, within = room.taken, room.within
        if word == room.words.first:
            return within.first
        if word == room.words.last:
            return within.last
        if leans == "right" and not any(map(str.isalpha, self._source.words[word - 1])):
            leans = "left"  # it stays after the punctuation or the number that it follows
        before = self._kept[max(word - len(_NEARNESS), 0) : word][::-1]
        after = self._kept[word : word + len(_NEARNESS)]
        mass_before, mass_after = (_NEARNESS[: len(words)] @ words for words in (before, after))
        crossed = np.zeros(len(taken) + 1)  # by links, if the tag is before each of the target words
        np.cumsum(mass_after - mass_before, out=crossed[1:])
        if leans != "left":
            crossed[:-1] -= _TOUCHED * after[0]
        if leans != "right":
            crossed[1:] -= _TOUCHED * before[0]
        free = [place for place in range(*within) if not (taken[place - 1] and taken[place])]
        if leans == "right" and not _is_mark(self._source, word):
            free = [place for place in free if not self._clings(place)]
        free = [within.first, *free, within.last]
        least = crossed[free].min() + 1e-6
        found = [place for place in free if crossed[place] <= least]
        return min(found) if leans == "left" else max(found)

    def _clings(self, word: int) -> bool:
        """Tell whether a target word is punctuation without white space before it."""
        spans = self._target.spans
        return word > 0 and spans[word - 1][1] == spans[word][0] and _is_mark(self._target, word)


def _is_mark(sentence: Sentence, word: int) -> bool:
    """Tell whether a word is punctuation."""
    start, end = sentence.spans[word]
    return not any(map(str.isalnum, sentence.text[start:end]))


def _greatest_sum(
    worths: Sequence[float], begins: Sequence[float], ends: Sequence[float], room: _Room
) -> tuple[float, Stretch | None]:
    """Return the stretch of free words with the greatest sum of gains, and that sum.

    ``begins`` and ``ends`` are what it costs to begin and to end before each word.
    """
    best, stretch = 0.0, None
    begin, least = -1, math.inf  # the best place to begin, and the sum of all gains before it with its cost
    total = 0.0
    for place in range(*room.within):
        if room.taken[place]:
            begin, least = -1, math.inf
        elif total + begins[place] <= least:
            begin, least = place, total + begins[place]
        total += worths[place]
        if begin >= 0 and total - ends[place + 1] - least > best:
            best, stretch = total - ends[place + 1] - least, Stretch(begin, place + 1)
    return best, stretch


def _characters(text: str, target: Sentence, element: Element, stretch: Stretch) -> Span:
    """Return the characters of a stretch; white space at its ends goes where it is in the source ``text``."""
    if element.closing is None:
        place = _in_space(text, element.start, _space(target, stretch.first), "alone")
        return place, place
    start = _in_space(text, element.start, _space(target, stretch.first), "open")
    end = _in_space(text, element.end, _space(target, stretch.last), "close")
    if stretch.last > stretch.first:
        if element.start == stretch.first == 0:
            start = 0
        if element.end == len(text) and stretch.last == len(target):
            end = len(target.text)
    return start, max(start, end)


def _in_space(text: str, place: int, space: Span, kind: TagKind) -> int:
    """Return where in white space of the target a tag goes, given its place in the source ``text``."""
    left, right = space
    before, after = text[max(place - _SPACES, 0) : place], text[place : place + _SPACES]
    spaces_before, spaces_after = len(before) - len(before.rstrip()), len(after) - len(after.lstrip())
    if spaces_before and spaces_after:
        return max(right - spaces_after, left) if kind == "close" else min(left + spaces_before, right)
    if spaces_after:
        return left
    return right if spaces_before or place == 0 or kind == "open" else left


def _space(sentence: Sentence, place: int) -> Span:
    """Return the characters between two words."""
    spans = sentence.spans
    return (spans[place - 1][1] if place else 0), (spans[place][0] if place < len(spans) else len(sentence.text))
