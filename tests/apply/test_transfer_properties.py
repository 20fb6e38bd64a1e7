"""What holds for all markup and all links: text and tags stay, nesting stays, and hostile markup takes no longer.

Every case follows from its number. CI runs 500 of each kind; ``WEFT_FUZZ=10000 pytest`` with this file runs more.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections import Counter
from typing import NamedTuple, get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.markup import Marked, TagHandling, parse_markup
from weft.apply.markup_transfer import sentences_to_place, with_markup
from weft.errors import WeftError

HANDLINGS = get_args(TagHandling)
CASES = int(os.environ.get("WEFT_FUZZ", "500"))
WORDS = [
    "a",
    "Haus",
    "CO2",
    "vier-fünf",
    "don't",
    "x",
    "12",
    "字",
    "字数",
    "مرحبا",
    "e\u0301",
    "👩‍👧",
    "\u200b",
    "&lt;",
    "&amp;",
    "&#65;",
]
BETWEEN = ["", " ", " ", " ", "  ", "\n", ", ", ". ", " („", "“) "]

ALONE = ['<x id="{}"/>', "<!-- {} -->", "<?p {} ?>", '<ph id="{}">a</ph>', '<it id="{}" pos="open">&lt;b></it>']


class Case(NamedTuple):
    source: str
    target: str
    handling: TagHandling


def random_text(generator: random.Random, most: int) -> str:
    return "".join(generator.choice(WORDS) + generator.choice(BETWEEN) for _ in range(generator.randrange(most)))


class RandomMarkup:
    """Makes segments in which every tag has a number of its own."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator
        self._numbers = itertools.count()
        self._begun: list[str] = []  # the ends of what has begun and may cross elements

    def well_formed(self, depth: int = 3) -> str:
        """XML with elements of all kinds; what is between <bx/> and <ex/> crosses others."""
        generator, parts = self._generator, []
        for _ in range(generator.randrange(7)):
            number, kind = next(self._numbers), generator.random()
            if kind < 0.4:
                parts.append(random_text(generator, 5))
            elif kind < 0.6 and depth:
                parts.append(f'<g id="{number}">{self.well_formed(depth - 1)}</g{" " * number}>')
            elif kind < 0.7:
                parts.append(generator.choice(ALONE).format(number))
            elif kind < 0.85:
                parts.append(f'<bx id="{number}"/>')
                self._begun.append(f'<ex id="{number}"/>')
            elif self._begun:
                parts.append(self._begun.pop(generator.randrange(len(self._begun))))
        return "".join(parts)

    def misnested(self) -> str:
        """Opening and closing tags in any order."""
        generator, parts = self._generator, []
        for number in range(generator.randrange(12)):
            name = generator.choice("abc")
            parts.append(generator.choice([f"<{name} n='{number}'>", f"</{name} n='{number}'>", f'<br n="{number}">']))
            parts.append(random_text(generator, 3))
        return "".join(parts)


def random_case(number: int) -> Case:
    generator = random.Random(number)
    markup = RandomMarkup(generator)
    target = random_text(generator, 12)
    if generator.random() < 0.3:
        target = markup.well_formed(1) + target
    if number % 3 == 0:
        return Case(markup.misnested(), target, "html")
    return Case(markup.well_formed(), target, "xliff")


def random_matrix(shape: tuple[int, int], number: int) -> np.ndarray | None:
    generator, kind = np.random.default_rng(number), number % 7
    if kind == 0:
        return None
    if kind == 1:
        return np.zeros(shape, np.float32)
    if kind == 2:
        return np.eye(*shape, dtype=np.float32)
    return (generator.random(shape) ** generator.integers(1, 12)).astype(np.float32)


def tags_of(marked: Marked) -> list[str]:
    return sorted(tag for element in marked.elements for tag in (element.opening, element.closing) if tag is not None)


def characters(text: str) -> Counter[str]:
    return Counter("".join(text.split()))


def transferred(source: Marked, target: Marked, number: int, split: bool) -> str:
    sentences = sentences_to_place(source, target)
    matrix = random_matrix((len(sentences[0]), len(sentences[1])), number)
    return with_markup(source, target, sentences, matrix, split)


def check(case: Case, number: int) -> None:
    """Assert what must hold."""
    source, target = (parse_markup(side, case.handling) for side in case[:2])
    split = number % 5 == 0
    result = transferred(source, target, number, split)
    found = parse_markup(result, case.handling)
    assert (found.text, found.written) == (target.text, target.written)
    if split:
        assert set(tags_of(found)) == set(tags_of(source))
        return
    assert tags_of(found) == tags_of(source)
    assert transferred(source, found, number, split) == result
    if case.handling == "xliff":
        ElementTree.fromstring(f"<all>{result}</all>")
    for element in source.elements:
        places = [result.index(tag) for tag in (element.opening, element.closing) if tag is not None]
        assert places == sorted(places)
        if element.parent is not None:
            parent = source.elements[element.parent]
            around = [result.index(tag) for tag in (parent.opening, parent.closing or "")]
            assert around[0] < places[0] and places[-1] < around[1]


def test_text_tags_and_nesting_stay() -> None:
    for number in range(CASES):
        case = random_case(number)
        try:
            check(case, number)
        except Exception as error:
            raise AssertionError(f"case {number}: {case}") from error


PARTS = [
    "<b>",
    "</b>",
    "<i a='>'>",
    "</i>",
    "<br/>",
    "<x",
    "</",
    "<!-- ",
    " -->",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "&",
    ";",
]
PARTS += [
    "&lt;",
    "<bpt i='1'>",
    "</bpt>",
    "<ept i='1'/>",
    "**",
    "_",
    "`",
    "[",
    "](u)",
    "\\",
    "{0}",
    "%s",
    '"',
    "'",
    " ",
    "\ud800",
]


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=3)).map("".join), st.text(), st.sampled_from(HANDLINGS))
def test_anything_can_be_transferred(source: str, target: str, handling: TagHandling) -> None:
    """What is no markup is text; no character but white space is lost or added."""
    before, after = parse_markup(source, handling, ("i",), translation=""), parse_markup(target, handling)
    result = transferred(before, after, len(source), split=False)
    assert characters(result) == characters("".join([*tags_of(before), after.written]))


@pytest.mark.parametrize(
    ("handling", "unit"),
    [*(("xliff", unit) for unit in ("<", "<a ", '<a "', "<a '\"", "<!--", "<?", "<![CDATA[", "<!A", "&", "&a")),
     *(("xliff", unit) for unit in ("&amp;", "</", "<a/", "<code>", "<ph>", "{", "{{", "%1", "%(", "${", " ", "a")),
     *(("markdown", unit) for unit in ("[", "[a](", "![", "*a ", "*a", "`", "_", "\\*", '[a](b "'))],
)  # fmt: skip
def test_time_is_linear(handling: TagHandling, unit: str) -> None:
    """Each takes a moment; if any rule were tried again from every character, minutes to hours."""
    many = unit * (100_000 // len(unit))
    for segment in (many, f"{many}<b>", f"<a b='{many}'>"):
        with contextlib.suppress(WeftError):  # of too many tags
            assert len(parse_markup(segment, handling, ("code",), "").written) <= len(segment)
    marked = parse_markup(f"<br/>{many[:9_000]}<br/>", handling)
    assert transferred(marked, parse_markup(many[:9_000], handling), 0, split=False)


@pytest.mark.parametrize(
    "source",
    [
        "<b>" * 4_999 + "aa" + "</b>" * 4_999,
        "<b>aa " * 300 + "</b>" * 300,
        "<b>aa</b> " * 300,
        "<a>aa <b>aa " * 150 + "</a></b>" * 150,
        "aa <br/>" * 300 + "<br/>" * 9_000,
        "a<i>a</i>" * 300,
        "".join(f"<bx id='{n}'/>aa " for n in range(300)) + "".join(f"<ex id='{n}'/>" for n in range(300)),
    ],
    ids=["deep", "deep with text", "side by side", "misnested", "empty", "in one word", "crossing"],
)
@pytest.mark.parametrize("matrix", [0, 3], ids=["too long", "aligned"])
def test_any_number_of_elements_can_be_nested(source: str, matrix: int) -> None:
    marked, target = parse_markup(source, "xliff"), parse_markup("aa bb " * 50, "xliff")
    result = transferred(marked, target, matrix, split=False)
    assert tags_of(parse_markup(result, "xliff")) == tags_of(marked)


def test_too_many_tags_are_refused() -> None:
    with pytest.raises(WeftError, match="more than 10,000 tags"):
        parse_markup("<b>" * 10_001)
