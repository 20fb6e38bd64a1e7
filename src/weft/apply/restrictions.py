"""What the codes of XLIFF 2 allow: those with ``canReorder="no"`` keep their order, ``canCopy="no"`` are never split.

Deleting is no question: every code of the source is in the target.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from weft.apply.elements import Element
from weft.text.words import Span

_ATTRIBUTE = r"""<(?:[^"'<>]|"[^"]*"|'[^']*')*?\s{}\s*=\s*["'](firstNo|no)["']"""
_NO_COPY, _NO_REORDER = (re.compile(_ATTRIBUTE.format(name)) for name in ("canCopy", "canReorder"))


def restricted(elements: Sequence[Element], spans: Sequence[Sequence[Span]]) -> list[Sequence[Span]]:
    """Return the spans of each element, changed where they are not allowed; the first of several is the surest."""
    found = [
        places[:1] if len(places) > 1 and _NO_COPY.match(element.opening) else places
        for element, places in zip(elements, spans, strict=True)
    ]
    for numbers in _sequences(elements):
        _keep_order(numbers, elements, found)
    return found


def _sequences(elements: Sequence[Element]) -> Iterator[list[int]]:
    """Yield the numbers of elements whose order must stay. A sequence begins with ``firstNo`` and goes on with ``no``.

    Elements inside others are apart from those around them: nesting keeps their order already.
    """
    opened: dict[int | None, list[int]] = defaultdict(list)
    for number, element in enumerate(elements):
        match = _NO_REORDER.match(element.opening)
        if match is None or match[1] == "firstNo":
            yield opened.pop(element.parent, [])
        if match is not None:
            opened[element.parent].append(number)
    yield from opened.values()


def _keep_order(numbers: Sequence[int], elements: Sequence[Element], spans: list[Sequence[Span]]) -> None:
    """Exchange the spans of elements that are out of order; those without text then go between their neighbours."""
    has_text = {number: elements[number].end > elements[number].start for number in numbers}
    for kind in (True, False):
        same = [number for number in numbers if has_text[number] == kind]
        for number, places in zip(same, sorted((spans[number] for number in same), key=list), strict=True):
            spans[number] = places
    latest: dict[int, int] = {}  # where each must end, as one with text begins after it
    limit = max((end for number in numbers for _, end in spans[number]), default=0)
    for number in reversed(numbers):
        latest[number] = limit
        if has_text[number]:
            limit = spans[number][0][0]
    earliest = 0
    for number in numbers:
        if not has_text[number]:
            place = min(max(spans[number][0][0], earliest), latest[number])
            spans[number] = [(place, place)]
        earliest = max(earliest, spans[number][-1][1])
