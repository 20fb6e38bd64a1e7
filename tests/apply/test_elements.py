"""Which tags belong together, and what is inside of what."""

from __future__ import annotations

import pytest

from weft.apply.elements import Element
from weft.apply.markup import parse_markup


def elements_of(segment: str) -> dict[str, Element]:
    """The elements of a segment by their first tags."""
    return {element.opening: element for element in parse_markup(segment, "xliff").elements}


@pytest.mark.parametrize(
    ("segment", "around", "crossing"),
    [
        ("<a>1<b>2</b><c/></a><d/>", {"<a>": None, "<b>": "<a>", "<c/>": "<a>", "<d/>": None}, ""),
        ("<a>1<b>2</a>3<c/></b>", {"<a>": None, "<b>": None, "<c/>": None}, "<b>"),
        ("<a>1<b>2<a n=''>3</b>4</a>5</a>", {"<a>": None, "<b>": "<a>", "<a n=''>": "<a>"}, "<a n=''>"),
        ("<g>1<bx id='1'/>2<ex id='1'/></g>", {"<g>": None, "<bx id='1'/>": "<g>"}, ""),
        ("<bx id='1'/>1<g>2</g><ex id='1'/>", {"<bx id='1'/>": None, "<g>": "<bx id='1'/>"}, ""),
        ("<bx id='1'/>1<g>2<ex id='1'/>3</g>", {"<bx id='1'/>": None, "<g>": None}, "<bx id='1'/>"),
        ("<g>1<bx id='1'/>2</g>3<ex id='1'/>", {"<g>": None, "<bx id='1'/>": None}, "<bx id='1'/>"),
        (
            "<g>1<bx id='1'/>2<bx id='2'/>3<ex id='1'/>4<ex id='2'/></g>",
            {"<g>": None, "<bx id='1'/>": "<g>", "<bx id='2'/>": "<g>"},
            "<bx id='1'/>",
        ),
        ("<a>1<u>2<b>3</b></a>", {"<a>": None, "<u>": "<a>", "<b>": "<a>"}, ""),  # <u> is not closed
    ],
)
def test_elements_are_inside_what_crosses_none(segment: str, around: dict[str, str | None], crossing: str) -> None:
    elements = elements_of(segment)
    names = list(elements)
    found = {name: None if one.parent is None else names[one.parent] for name, one in elements.items()}
    assert found == around
    assert [name for name, one in elements.items() if one.crosses] == ([crossing] if crossing else [])


@pytest.mark.parametrize(
    ("segment", "leaning"),
    [
        ("a<x/> b", "left"),
        ("a <x/>b", "right"),
        ("a <x/> b", "both"),
        ("a<x/>b", "both"),
        ("<x/>a", "right"),
        ("a<x/>", "left"),
        ("a <x></x>b", "right"),
        ("a<u> b", "right"),  # it opens something
        ("a </u>b", "left"),  # it closes something
        ("a<it pos='begin'/> b", "right"),
        ("a <it pos='end'/>b", "left"),
    ],
)
def test_tags_lean_to_what_they_touch(segment: str, leaning: str) -> None:
    (element,) = elements_of(segment).values()
    assert element.leans == leaning
