"""Markup transfer: the inline markup of a source segment moves onto its translation.

The text of the translation never changes, every tag of the source occurs exactly once unless splitting was asked for,
and what is nested in the source is nested in the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.align.alignment import Alignment
from weft.align.windowed import WindowedAligner
from weft.apply.markup import Marked, TagHandling, parse_markup
from weft.apply.placement import cut_words, place_elements
from weft.text.words import Sentence, Span


class _Parsed(NamedTuple):
    source: Marked
    target: Marked
    unchanged: str
    """The target as it was given."""


def transfer(
    aligner: WindowedAligner,
    pairs: Iterable[tuple[str, str]],
    handling: TagHandling = "html",
    *,
    ignore_tags: Sequence[str] = (),
    split: bool = False,
    placeholders: bool = False,
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
    """
    waiting: deque[_Parsed] = deque()

    def sentences() -> Iterator[tuple[Sentence, Sentence]]:
        for source, target in pairs:
            translation = parse_markup(target, handling, ignore_tags)
            text = translation.text if placeholders else None
            parsed = _Parsed(parse_markup(source, handling, ignore_tags, text), translation, target)
            waiting.append(parsed)
            borders = [place for element in parsed.source.elements for place in (element.start, element.end)]
            yield cut_words(parsed.source.text, borders), cut_words(parsed.target.text)

    for alignment in aligner.align(sentences(), skip_long=True, matrices=True):
        parsed = waiting.popleft()
        yield (
            with_markup(parsed.source, parsed.target, alignment, split) if parsed.source.elements else parsed.unchanged
        )


def with_markup(source: Marked, target: Marked, alignment: Alignment, split: bool = False) -> str:
    """Return the target with the elements of the source, placed by the alignment of their texts."""
    spans = place_elements(alignment.matrix, alignment.source, alignment.target, source.elements, split)
    nested = [number for number, element in enumerate(source.elements) if not element.crosses]
    inner: dict[int | None, list[int]] = {}
    for number in nested:
        inner.setdefault(source.elements[number].parent, []).append(number)
    tags = list(_nested_tags(source, spans, inner, None, (0, len(target.text))))
    for number, element in enumerate(source.elements):
        if element.crosses:  # opens after all tags at its place, and closes before them
            for start, end in spans[number]:
                tags.append((start, 2, element.opening))
                tags.append((end, 0, element.closing or ""))
    parts, last = [], 0
    for place, _, tag in sorted(tags, key=lambda one: one[:2]):
        written = target.place(place)
        parts += [target.written[last:written], tag]
        last = written
    return "".join(parts) + target.written[last:]


def _nested_tags(
    source: Marked, spans: Sequence[Sequence[Span]], inner: dict[int | None, list[int]], outer: int | None, within: Span
) -> Iterator[tuple[int, int, str]]:
    """Yield the place of each tag inside an element, in order, with a rank among the tags of one place, and the tag."""
    placed = [(span, number) for number in inner.get(outer, []) for span in spans[number]]
    reached, end = within
    for span, number in sorted(placed, key=lambda one: one[0]):
        element = source.elements[number]
        start, stop = (min(max(place, reached), end) for place in span)  # white space may belong to two
        yield start, 1, element.opening
        if element.closing is not None:
            if span == spans[number][0]:  # of an element that is split, the surest part has what is inside it
                yield from _nested_tags(source, spans, inner, number, (start, stop))
            yield stop, 1, element.closing
        reached = stop
