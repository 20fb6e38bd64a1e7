"""Alignments: what they know, and how they are written down."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.align import alignment as module
from weft.align.alignment import Alignment
from weft.errors import WeftError
from weft.text.words import Sentence

HOUSE = Alignment(
    Sentence.from_text("Das  alte Haus, ja.", raw=True),
    Sentence.from_text("the old house", raw=True),
    {(0, 0): 0.9, (1, 1): 0.8, (2, 2): 0.75},
    score=0.5,
)
EMPTY = Alignment(Sentence.from_words([]), Sentence.from_words(["a"]))


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(module).attempted > 0


def test_an_alignment_knows_its_words_and_their_places() -> None:
    assert HOUSE.source.words == ["Das", "alte", "Haus", ",", "ja", "."]
    assert str(HOUSE) == "0-0 1-1 2-2" and HOUSE.links == {(0, 0), (1, 1), (2, 2)}
    assert HOUSE.unaligned("source") == [3, 4, 5] and HOUSE.unaligned("target") == []
    assert HOUSE.map_span(5, 14) == (4, 13)  # "alte Haus"
    assert HOUSE.map_span(6, 7) == (4, 7)  # a part of "alte"
    assert HOUSE.map_span(14, 19) is None
    assert HOUSE.map_span(8, 13, side="target") == (10, 14)
    assert HOUSE.reversed().reversed() == HOUSE and HOUSE.reversed().source.words == ["the", "old", "house"]


def test_sides_are_source_and_target() -> None:
    for call in (lambda: HOUSE.map_span(0, 3, "soruce"), lambda: HOUSE.unaligned("")):  # pyrefly: ignore
        with pytest.raises(WeftError, match="a side is 'source' or 'target', not"):
            call()


def test_alignments_can_be_members_of_sets() -> None:
    assert len({HOUSE, replace(HOUSE), EMPTY}) == 2
    assert HOUSE.links is HOUSE.links and HOUSE.source.words is HOUSE.source.words  # made once


@given(st.lists(st.text(min_size=1)))
def test_words_are_found_at_their_spans(words: list[str]) -> None:
    assert Sentence.from_words(words).words == words
