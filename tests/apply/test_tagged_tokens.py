"""Tokens with IOB tags: reading, writing, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.label_file import Unit
from weft.apply.projection import Label, Projected
from weft.apply.tagged_tokens import TaggedTokens, iob2_tags, tagged_spans
from weft.errors import BadLine
from weft.text.words import Sentence


def read(text: str, target: str = "x y", raw: bool = False) -> TaggedTokens:
    return TaggedTokens(Unit("file", 7, text, target), raw, [])


def written(sentence: TaggedTokens, *places: Label | None) -> str:
    target = sentence.labelled.target
    assert isinstance(target, Sentence)
    return sentence.written(Projected(target, target, list(places), [], {}))


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-X I-X O", [(0, 2, "X")]),
        ("B-X B-X I-Y", [(0, 1, "X"), (1, 2, "X"), (2, 3, "Y")]),
        ("I-X I-X O I-Y B-Y", [(0, 2, "X"), (3, 4, "Y"), (4, 5, "Y")]),  # IOB1
        ("U-X B-X I-X L-X I-X", [(0, 1, "X"), (1, 4, "X"), (4, 5, "X")]),  # BILOU
        ("S-X B-X E-X O", [(0, 1, "X"), (1, 3, "X")]),  # IOBES
        ("B I O", [(0, 2, "")]),
        ("B-a-b I-a-b", [(0, 2, "a-b")]),
        ("O O", []),
    ],
)
def test_tags_of_all_kinds(tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert tagged_spans(tags.split()) == spans


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["", "X", "Y-Z"]))))
def test_spans_survive_as_tags(steps: list[tuple[int, int, str]]) -> None:
    spans, place = [], 0
    for gap, size, label in steps:
        spans.append((place + gap, place + gap + size, label))
        place += gap + size
    assert tagged_spans(iob2_tags(spans, place)) == spans


def test_labels_have_offsets_and_come_back_as_tags() -> None:
    sentence = read("New\tB-LOC\nYork\tI-LOC\nis\tO\nbig\tB-X")
    assert sentence.labelled.labels == [Label(0, 8, "LOC", "column 2"), Label(12, 15, "X", "column 2")]
    assert written(sentence, Label(0, 3, "LOC", "column 2"), None) == "x\tB-LOC\ny\tI-LOC\n\n"


def test_columns_of_tags_are_layers_and_others_are_left_out() -> None:
    sentence = read("a NN I-NP B-PER\nb . O O")
    assert [label.layer for label in sentence.labelled.labels] == ["column 3", "column 4"]
    places = [Label(2, 3, "NP", "column 3"), Label(0, 1, "PER", "column 4")]
    assert written(sentence, *places) == "x _ O B-PER\ny _ B-NP O\n\n"


def test_lines_before_the_tokens_are_kept() -> None:
    sentence = read("-DOCSTART- -X- O\n\n# id 5\n# O O\nis O O", "y")
    assert len(sentence.labelled.source) == 2  # "# O O" is a token
    assert written(sentence) == "-DOCSTART- -X- O\n\n# id 5\ny O O\n\n"


def test_tokens_of_running_text() -> None:
    assert written(read("a O", "x, y", raw=True)) == "x O\n, O\ny O\n\n"
    assert written(read("a O", "")) == "\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a O\nb", 8),
        ("a O\nb NN", 8),
        ("a O\nb N O", 8),
        ("\tO", 7),
        ("# id\n\na\tO\nb\tX", 10),
        ("a\tB-X\n\xa0\tO", 8),
    ],
)
def test_bad_lines_are_named(text: str, line: int) -> None:
    with pytest.raises(BadLine) as error:
        read(text)
    assert error.value.line == line
