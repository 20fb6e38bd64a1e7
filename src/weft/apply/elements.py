"""Elements of a segment: tags are joined to what they begin and end, also where they are not nested or have no partner.

Time is linear in the number of tags.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Leaning = Literal["left", "right", "both"]
TagKind = Literal["open", "close", "alone"]


class Tag(NamedTuple):
    """A tag as it is written."""

    raw: str
    place: int
    """In the text, before the character of this number."""
    kind: TagKind
    partner: str = ""
    """What the two tags of an element have in common."""
    crosses: bool = False
    """It is an element of its own, so that what begins and ends with such tags may cross others."""
    leans: Leaning = "both"


class Element(NamedTuple):
    """A tag, or two tags and what is between them."""

    opening: str
    closing: str | None
    """None for a tag that stands alone."""
    start: int
    """Its place in the text, which is before the character of this number."""
    end: int
    leans: Leaning = "both"
    """To which of its neighbours it belongs if it has no text."""
    crosses: bool = False
    """It begins inside another element and ends outside of it, or the other way round."""
    parent: int | None = None
    """The number of the innermost element around it that crosses none, if any."""


def join_tags(tags: Sequence[Tag], text: str) -> Iterator[Element]:
    """Yield the elements that tags make, in the order of their first tags; what has no partner stands alone."""
    closings = _partners(tags)
    crossing, parents = _nesting(tags, closings)
    numbers: dict[int, int] = {}  # of the elements, by their first tags
    for first, tag in enumerate(tags):
        if first not in parents:  # a closing tag
            continue
        while (parent := parents[first]) in crossing:
            parents[first] = parents[parent]
        closing = tags[closings[first]] if first in closings else None
        end = closing.place if closing else tag.place
        leans = tag.leans if closing or tag.kind == "alone" else "right" if tag.kind == "open" else "left"
        if leans == "both" and tag.place == end:
            leans = _leaning(text, end)
        number = None if parent is None else numbers[parent]
        numbers[first] = len(numbers)
        yield Element(tag.raw, closing.raw if closing else None, tag.place, end, leans, first in crossing, number)


def _partners(tags: Sequence[Tag]) -> dict[int, int]:
    """Return the closing tag of each opening one that has one, by their numbers."""
    waiting: dict[str, list[int]] = defaultdict(list)
    found = {}
    for number, tag in enumerate(tags):
        if tag.kind == "open":
            waiting[tag.partner].append(number)
        elif tag.kind == "close" and waiting[tag.partner]:
            found[waiting[tag.partner].pop()] = number
    return found


def _nesting(tags: Sequence[Tag], closings: dict[int, int]) -> tuple[set[int], dict[int, int | None]]:
    """Return which elements cross others, and the innermost element around each one, by their first tags.

    Of two elements that cross, it is the one whose tags are elements of their own, or else the one that ends later.
    """
    openings = {last: first for first, last in closings.items()}
    opened: list[int] = []  # each inside the one before it
    crossing: set[int] = set()
    parents: dict[int, int | None] = {}
    for number, tag in enumerate(tags):
        if number in closings:
            opened.append(number)
            continue
        first = openings.get(number, number)
        if number in openings and first not in crossing:
            if tag.crosses:
                if opened[-1] != first:
                    crossing.add(first)
                del opened[bisect(opened, first) - 1]
            else:
                while (inner := opened.pop()) != first:
                    crossing.add(inner)
        place = bisect(opened, first)
        parents[first] = opened[place - 1] if place else None
    return crossing, parents


def _leaning(text: str, place: int) -> Leaning:
    """Return to which side a tag belongs: what touches something on one side only belongs to that."""
    left, right = place > 0 and not text[place - 1].isspace(), place < len(text) and not text[place].isspace()
    return "both" if left == right else "left" if left else "right"
