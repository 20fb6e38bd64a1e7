"""Alignments as text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS, FormatName
from weft.text.words import Sentence

DOCS = Path(__file__).parents[2] / "docs" / "aligning.md"
HOUSE = Alignment(
    Sentence.from_text("Das  alte Haus, ja.", raw=True),
    Sentence.from_text("the old house", raw=True),
    {(0, 0): 0.9, (1, 1): 0.8, (2, 2): 0.75},
    score=0.5,
)
EMPTY = Alignment(Sentence.from_words([]), Sentence.from_words(["a"]))


def written(form: FormatName, *alignments: Alignment) -> str:
    start, end = FORMATS[form].start(), FORMATS[form].end
    return start + "".join(FORMATS[form].one(one, number) for number, one in enumerate(alignments, 1)) + end


def test_there_is_one_list_of_formats() -> None:
    assert get_args(FormatName) == tuple(FORMATS)
    table = DOCS.read_text("utf-8").partition("## Output")[2].partition("\n|")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(FORMATS)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("pharaoh", "0-0 1-1 2-2\n"),
        ("probabilities", "0-0:0.900 1-1:0.800 2-2:0.750\n"),
        ("words", "Das|the alte|old Haus|house\n"),
        (
            "giza",
            "# Sentence pair (1) source length 6 target length 3 alignment score : 0.5\nthe old house\n"
            "NULL ({ }) Das ({ 1 }) alte ({ 2 }) Haus ({ 3 }) , ({ }) ja ({ }) . ({ })\n",
        ),
    ],
)
def test_lines(form: FormatName, expected: str) -> None:
    assert written(form, HOUSE) == expected


def test_json_has_everything() -> None:
    first, second = map(json.loads, written("jsonl", HOUSE, EMPTY).splitlines())
    assert first["links"] == [[0, 0, 0.9], [1, 1, 0.8], [2, 2, 0.75]] and first["score"] == 0.5
    for side in ("source", "target"):
        text, offsets = first[side]["text"], first[side]["offsets"]
        assert [text[start:end] for start, end in offsets] == first[side]["words"]
    assert second["links"] == [] and second["source"]["words"] == []


def test_notebooks_show_a_matrix() -> None:
    drawn = HOUSE._repr_html_()
    assert drawn.count("<circle") == 3
    ElementTree.fromstring(drawn)


def test_matrices_take_the_colour_of_the_text_around_them_and_cut_long_words() -> None:
    drawn = Alignment(Sentence.from_words(["x" * 99]), Sentence.from_words(["\x1b"]), {(0, 0): 0.5})._repr_html_()
    assert "#" not in drawn and 'fill="currentColor"' in drawn
    assert "x" * 23 + "…" in drawn and "x" * 24 not in drawn and "\x1b" not in drawn


def test_white_space_in_a_word_breaks_no_line() -> None:
    """Words of running text may have some: an Arabic particle and its pronoun stand apart in tokenised text."""
    alignment = Alignment(Sentence("قلت ل\nه", raw=True), Sentence("I told him", raw=True), {(1, 2): 1.0}, 0.5)
    assert FORMATS["words"].one(alignment, 1) == "ل▁ه|him\n"
    assert FORMATS["giza"].one(alignment, 1).splitlines()[2] == "NULL ({ 1 2 }) قلت ({ }) ل▁ه ({ 3 })"
