"""Codes of XLIFF 2 that must not be reordered or copied."""

from __future__ import annotations

import random

import pytest
from given_links import transfer_by

from weft.apply.elements import Element
from weft.apply.restrictions import restricted

FIRST, NEXT = 'canReorder="firstNo"', "canReorder='no'"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<pc id='1'>red</pc> <pc id='2'>wine</pc>", "<pc id='2'>vino</pc> <pc id='1'>rosso</pc>"),
        (
            f"<pc id='1' {FIRST}>red</pc> <pc id='2' {NEXT}>wine</pc>",
            f"<pc id='1' {FIRST}>vino</pc> <pc id='2' {NEXT}>rosso</pc>",
        ),
        (  # not of one sequence
            f"<pc id='1' {FIRST}>red</pc> <pc id='2' {FIRST}>wine</pc>",
            f"<pc id='2' {FIRST}>vino</pc> <pc id='1' {FIRST}>rosso</pc>",
        ),
        (f"<ph id='1' {NEXT}/>red <ph id='2' {NEXT}/>wine", f"<ph id='1' {NEXT}/><ph id='2' {NEXT}/>vino rosso"),
        (  # what looks like an attribute, in code
            "<pc id='1' a='canReorder=\"no\"'>red</pc> <pc id='2' a=' canReorder=\"no\"'>wine</pc>",
            "<pc id='2' a=' canReorder=\"no\"'>vino</pc> <pc id='1' a='canReorder=\"no\"'>rosso</pc>",
        ),
    ],
)
def test_order(source: str, expected: str) -> None:
    assert transfer_by("0-1 1-0", source, "vino rosso", handling="xliff") == expected


def test_what_must_not_be_copied_is_not_split() -> None:
    links, target = "0-0 0-2 1-1", "ne va pas"
    assert transfer_by(links, "<pc>not</pc> goes", target, handling="xliff", split=True).count("<pc>") == 2
    result = transfer_by(links, '<pc canCopy="no">not</pc> goes', target, handling="xliff", split=True)
    assert result.count("<pc") == 1


def test_any_order_of_places() -> None:
    """Starts and ends are in the order of the sequence, and elements without restrictions stay."""
    generator = random.Random(1)
    for _ in range(300):
        elements, spans = [], []
        for number, place in enumerate(generator.sample(range(0, 200, 10), generator.randrange(1, 8))):
            length = generator.randrange(3)
            is_free = generator.random() < 0.2
            opening = "<pc>" if is_free else f"<pc {FIRST if number == 0 else NEXT}>"
            elements.append(Element(opening, "</pc>", number, number + bool(length)))
            spans.append([(place, place + length)])
        found = restricted(elements, spans)
        places = [0]
        for element, before, after in zip(elements, spans, found, strict=True):
            if element.opening == "<pc>":
                assert before == after
                places = [0]
            else:
                places += after[0]
            assert places == sorted(places)
