"""Markup transfer: the inline markup of a source segment moves onto its translation.

The text of the translation never changes, every tag of the source occurs exactly once unless splitting was asked for,
and what is nested in the source is nested in the result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from weft.align.alignment import Alignment
from weft.align.windowed import AlignsPairs, OnLong, pass_over
from weft.apply.elements import Element
from weft.apply.markup import Marked, TagHandling, parse_markup
from weft.apply.placement import place_elements
from weft.apply.restrictions import restricted
from weft.apply.word_parts import cut_words, shared_borders, standing_apart
from weft.text.words import Sentence, Span

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 8_192  # segments that are read before any is answered
_CELLS = 20_000_000  # in the matrices of those that are aligned at once: 80 MB


class _Parsed(NamedTuple):
    source: Marked
    target: Marked
    given: str
    """The target as it was given."""
    sentences: tuple[Sentence, Sentence] | None
    """What is to be aligned; None if links do not matter."""

    def with_markup(self, alignments: Iterator[Alignment], split: bool) -> str:
        """Return the target with the markup of the source; takes an alignment if there is one for it."""
        if not self.source.elements:
            return self.given
        if self.sentences:
            return with_markup(self.source, self.target, self.sentences, next(alignments).matrix, split)
        return with_markup(self.source, self.target, (_whole(self.source.text), _whole(self.target.text)), None)


class _PlacedTag(NamedTuple):
    """A tag and its place in the target."""

    place: int
    tag: str
    element: int


def transfer(
    aligner: AlignsPairs,
    pairs: Iterable[tuple[str, str]],
    handling: TagHandling = "html",
    *,
    ignore_tags: Sequence[str] = (),
    split: bool = False,
    placeholders: bool = False,
    on_long: OnLong = pass_over,
) -> Iterator[str]:
    """Yield the target of each pair with the markup of its source.

    Markup that a target has already is taken out first; a pair whose source has none keeps its target.

    Args:
        aligner: What aligns the text.
        pairs: Source and target of each segment, both as they stand in a file, with entities and all.
        handling: What is markup.
        ignore_tags: Elements that move as they are with all that they contain, which no translation has.
        split: An element whose words are apart in the target is there several times; otherwise it covers them all.
        placeholders: What a program fills in, such as ``{0}`` and ``%s``, is markup if the target lacks it.
        on_long: Called for a segment that is too long to be aligned, with its index among the pairs; its elements are
            placed by length.
    """
    parsed = (_parse(source, target, handling, ignore_tags, placeholders) for source, target in pairs)
    seen = 0
    for window in _windows(parsed):
        alignments = _aligned(aligner, {index: one.sentences for index, one in enumerate(window, seen)}, on_long)
        for one in window:
            yield one.with_markup(alignments, split)
        seen += len(window)


def _aligned(
    aligner: AlignsPairs, sentences: dict[int, tuple[Sentence, Sentence] | None], on_long: OnLong
) -> Iterator[Alignment]:
    """Yield the alignments of all sentences that are not None, given by the indices that ``on_long`` expects."""
    wanted = {index: (standing_apart(pair[0]), standing_apart(pair[1])) for index, pair in sentences.items() if pair}
    indices = list(wanted)

    def on_long_one(number: int, pieces: int) -> None:
        on_long(indices[number], pieces)

    return aligner.stream(wanted.values(), on_long_one, len(wanted), matrices=True)


def _parse(source: str, target: str, handling: TagHandling, ignore_tags: Sequence[str], placeholders: bool) -> _Parsed:
    translation = parse_markup(target, handling, ignore_tags)
    marked = parse_markup(source, handling, ignore_tags, translation.text if placeholders else None)
    sentences = sentences_to_place(marked, translation) if _needs_links(marked) else None
    return _Parsed(marked, translation, target, sentences)


def _needs_links(source: Marked) -> bool:
    """Tell whether any element is not around all of the text, before all of it or after all of it."""
    begin, end = _without_space(source.text)
    return any(
        begin < element.end and element.start < end and (begin < element.start or element.end < end)
        for element in source.elements
    )


def _whole(text: str) -> Sentence:
    """Return the sentence that has all of a text as its one word."""
    begin, end = _without_space(text)
    return Sentence(text, ((begin, end),) if end > begin else (), raw=True)


def _without_space(text: str) -> Span:
    """Return where a text begins and ends, white space left out."""
    begin = len(text) - len(text.lstrip())
    return begin, max(begin, len(text.rstrip()))


def _windows(segments: Iterable[_Parsed]) -> Iterator[list[_Parsed]]:
    """Yield so many segments at a time that their matrices fit into memory."""
    window: list[_Parsed] = []
    cells = 0
    for segment in segments:
        source, target = segment.sentences or ((), ())
        if window and (len(window) == _AT_ONCE or cells + len(source) * len(target) > _CELLS):
            yield window
            window, cells = [], 0
        window.append(segment)
        cells += len(source) * len(target)
    if window:
        yield window


def sentences_to_place(source: Marked, target: Marked) -> tuple[Sentence, Sentence]:
    """Return the texts of a segment and its translation, their words cut where tags may be."""
    borders = {place for element in source.elements for place in (element.start, element.end)}
    shared = shared_borders(source.text, borders, target.text)
    return cut_words(source.text, borders), cut_words(target.text, shared)


def with_markup(
    source: Marked,
    target: Marked,
    sentences: tuple[Sentence, Sentence],
    matrix: np.ndarray | None,
    split: bool = False,
) -> str:
    """Return the target with the elements of the source.

    ``matrix`` has the probabilities of links between the words of the ``sentences``; None: nothing is known.
    """
    spans = place_elements(matrix, *sentences, source.elements, split)
    parts, last = [], 0
    for place, tag, _ in _tags_in_order(source.elements, restricted(source.elements, spans), len(target.text)):
        written = target.place(place)
        parts += [target.written[last:written], _spaced(tag, target.text, place)]
        last = written
    return "".join(parts) + target.written[last:]


def _spaced(tag: str, text: str, place: int) -> str:
    """Return a tag without the white space around it, which placeholders may have, where the text has some."""
    if place == 0 or text[place - 1].isspace():
        tag = tag.lstrip()
    return tag.rstrip() if place == len(text) or text[place].isspace() else tag


def _tags_in_order(elements: Sequence[Element], spans: Sequence[Sequence[Span]], length: int) -> list[_PlacedTag]:
    """Return all tags in the order in which they are written in a target of this length."""
    tags = list(_nested_tags(elements, spans, length))
    places = [tag.place for tag in tags]
    limits = [0, *places, length]
    inside: dict[int | None, Span] = {None: (0, len(tags))}  # which tags are inside an element
    for number, tag in enumerate(tags):
        inside[tag.element] = inside.get(tag.element, (number + 1, number))[0], number
    ordered = [((number, length + 1, 0), tag) for number, tag in enumerate(tags)]
    for number, element in enumerate(elements):
        if element.crosses:  # opens after all tags at its place, and closes before them
            first, last = inside[element.parent]
            for span in spans[number]:
                start, end = _clipped(span, limits[first], limits[last + 1])
                before = bisect_right(places, start, first, last)
                ordered.append(((before, start, number), _PlacedTag(start, element.opening, number)))
                before, rank = bisect_left(places, end, before, last), -number if end > start else number
                ordered.append(((before, end, rank), _PlacedTag(end, element.closing or "", number)))
    return [tag for _, tag in sorted(ordered, key=lambda one: one[0])]


def _nested_tags(elements: Sequence[Element], spans: Sequence[Sequence[Span]], length: int) -> Iterator[_PlacedTag]:
    """Yield the tags of the elements that cross no others, in the order in which they are written."""
    inner: dict[int | None, list[tuple[Span, int]]] = defaultdict(list)
    for number, element in enumerate(elements):
        if not element.crosses:
            inner[element.parent] += ((span, number) for span in spans[number])
    opened = [(_side_by_side(inner[None], 0, length), [])]  # what comes inside each element, and its closing tag
    while opened:
        following, closing = opened[-1]
        number, span, (start, end) = next(following, (None, (0, 0), (0, 0)))
        if number is None:
            yield from closing
            opened.pop()
            continue
        element = elements[number]
        yield _PlacedTag(start, element.opening, number)
        closing = [] if element.closing is None else [_PlacedTag(end, element.closing, number)]
        # Of an element that is split, the surest part has what is inside it.
        content = inner[number] if span == spans[number][0] else []
        opened.append((_side_by_side(content, start, end), closing))


def _side_by_side(placed: Iterable[tuple[Span, int]], start: int, end: int) -> Iterator[tuple[int, Span, Span]]:
    """Yield elements in order, each with the span chosen for it, and the part of that after the one before it.

    White space may have been given to two.
    """
    for span, number in sorted(placed):
        clipped = _clipped(span, start, end)
        yield number, span, clipped
        start = clipped[1]


def _clipped(span: Span, start: int, end: int) -> Span:
    first, last = (min(max(place, start), end) for place in span)
    return first, last
