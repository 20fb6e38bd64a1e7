"""Words of running text cut more finely, as tags stand inside of words, too."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from weft.text.spelling import Remembered
from weft.text.units import chunk_spans
from weft.text.words import Sentence, Span, raw_word_spans

AT_HYPHEN = 0.02  # what it costs an element to begin or end at a hyphen,
INSIDE_WORD = 0.1  # and elsewhere inside a word
_HYPHENS = "-‐‑/_"
# Where words are cut: Google|-|Apps, Neu|Land, CO|2.
_CUTS = re.compile(rf"[{_HYPHENS}]|(?<=[^\W\d_A-ZÀ-Þ])(?=[A-ZÀ-Þ])|(?<=[^\W\d_])(?=\d)")

_LETTERS = re.compile(r"[^\W_]+")


class Stretch(NamedTuple):
    """Words from ``first`` to before ``last``; none if both are the same."""

    first: int
    last: int


def cut_words(text: str, borders: Iterable[int] = ()) -> Sentence:
    """Return the sentence of a text whose words are cut at hyphens, before capitals and digits, and at ``borders``."""
    spans: list[Span] = []
    for begin, end in chunk_spans(text):
        spans += [(begin + first, begin + last) for first, last in _parts_of_chunk[text[begin:end]]]
    for border in borders:
        number = bisect_right(spans, (border,)) - 1
        if number >= 0 and spans[number][0] < border < spans[number][1]:
            start, end = spans[number]
            spans[number : number + 1] = (start, border), (border, end)
    return Sentence(text, tuple(spans), raw=True)


def _parts(chunk: str) -> tuple[Span, ...]:
    found: list[Span] = []
    for start, end in raw_word_spans(chunk):
        cuts = {start, end}
        for match in _CUTS.finditer(chunk, start, end):
            cuts |= {match.start(), match.end()}
        found += itertools.pairwise(sorted(cuts))
    return tuple(found)


_parts_of_chunk = Remembered(_parts)


def standing_apart(sentence: Sentence) -> Sentence:
    """Return the same words with a space before each capital inside a word, for aligners: ``OpenSave`` is two words.

    Items of lists and menus touch if the tags between them are left out.
    """
    text, spans = sentence.text, sentence.spans
    glued = [
        start
        for (_, end), (start, _) in itertools.pairwise(spans)
        if start == end and text[start].isupper() and text[start - 1].islower()
    ]
    if not glued:
        return sentence
    parts = (text[start:end] for start, end in itertools.pairwise([0, *glued, len(text)]))
    moved = tuple((start + bisect_right(glued, start), end + bisect_right(glued, start)) for start, end in spans)
    return Sentence(" ".join(parts), moved, raw=True)


def border_costs(sentence: Sentence) -> list[float]:
    """Return what it costs to begin or end before each word, and at the end. (words + 1,)"""
    text, spans = sentence.text, sentence.spans
    costs = [0.0] * (len(spans) + 1)
    whole: set[int] | None = None  # where words begin that are not cut
    for number, ((_, end), (start, _)) in enumerate(itertools.pairwise(spans), 1):
        if start != end:
            continue
        at_hyphen = text[start - 1] in _HYPHENS or text[start] in _HYPHENS
        if at_hyphen or (text[start - 1].isalnum() and text[start].isalnum()):  # nothing else is cut
            whole = whole or {first for first, _ in raw_word_spans(text)}
            if start not in whole:
                costs[number] = AT_HYPHEN if at_hyphen else INSIDE_WORD
    return costs


def shared_borders(source: str, borders: Iterable[int], target: str) -> Iterator[int]:
    """Yield where ``borders`` inside of words of the source are in the same words of the target: H|2|O.

    The border in the middle of a word that is there twice, as at the foot of a page, is in that of such a word: EN|EN,
    DE|DE.
    """
    words = _letters(source)
    inside: dict[str, set[int]] = defaultdict(set)  # places in words, each once however often the word is there
    is_twice = False
    for border in borders:
        if span := _word_around(words, border):
            inside[source[span[0] : span[1]]].add(border - span[0])
            is_twice = is_twice or _is_middle(source, border, span)
    for start, end in _letters(target) if inside else ():
        places = inside.get(target[start:end], set())
        middle = (start + end) // 2
        if is_twice and _is_middle(target, middle, (start, end)):
            places = places | {middle - start}
        yield from (start + place for place in places)


def _is_middle(text: str, place: int, span: Span) -> bool:
    """Tell whether a word has the same letters before a place and after it."""
    start, end = span
    return place - start == end - place and text[start:place] == text[place:end]


def _letters(text: str) -> list[Span]:
    """Return the spans of letters and digits between anything else."""
    return [match.span() for match in _LETTERS.finditer(text)]


def _word_around(words: Sequence[Span], place: int) -> Span | None:
    """Return the word that a place is inside of, not at its ends."""
    number = bisect_left(words, (place,)) - 1
    return words[number] if number >= 0 and place < words[number][1] else None


class Copies:
    """Finds text of the source in the target, letter by letter."""

    def __init__(self, source: str, target: Sentence, costs: Sequence[float]) -> None:
        """``costs`` are those of ``border_costs``."""
        self._source, self._target, self._costs = source, target, costs
        self._words = _letters(source)

    @cached_property
    def _borders(self) -> tuple[dict[int, int], dict[int, int]]:
        """Which target word begins at a character, and which one is after a word that ends there."""
        spans = self._target.spans
        return {span[0]: word for word, span in enumerate(spans)}, {span[1]: word for word, span in enumerate(spans, 1)}

    def of(self, start: int, end: int) -> list[Stretch]:
        """Return the target words that have the text of a span of the source, if possible inside of the same words."""
        content = self._source[start:end]
        start += len(content) - len(content.lstrip())
        end = max(start, end - len(content) + len(content.rstrip()))
        left, right = (_word_around(self._words, place) or (place, place) for place in (start, end))
        whole = self._whole_words(self._source[left[0] : right[1]])
        begins, ends = self._borders
        inside = ((begins.get(place + start - left[0]), ends.get(place + end - left[0])) for place in whole)
        found = [Stretch(first, last) for first, last in inside if first is not None and last is not None]
        if found or (left[0], right[1]) == (start, end):
            return found
        return [Stretch(begins[place], ends[place + end - start]) for place in self._whole_words(content.strip())]

    def _whole_words(self, wanted: str) -> list[int]:
        """Return where a text stands in the target, its ends at those of words or at hyphens."""
        if not (wanted.isdigit() or (len(wanted) > 1 and any(map(str.isalpha, wanted)))):
            return []
        begins, ends = self._borders
        found, place = [], self._target.text.find(wanted)
        while place >= 0:
            borders = begins.get(place), ends.get(place + len(wanted))
            if all(border is not None and self._costs[border] <= AT_HYPHEN for border in borders):
                found.append(place)
            place = self._target.text.find(wanted, place + 1)
        return found
