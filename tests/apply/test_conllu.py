"""CoNLL-U: columns of words, spans in MISC, and what is refused."""

from __future__ import annotations

import pytest

from weft.apply.conllu import ConlluSentence, check_columns
from weft.apply.label_file import Unit
from weft.apply.projection import Label, Projected
from weft.errors import BadLine, WeftError
from weft.text.words import Sentence

HEAD = "# sent_id = 3\n# text = Anna lives\n"
ROWS = ["1\tAnna\tAnna\tPROPN\tNNP\tNumber=Sing\t2\tnsubj\t_\t{}", "2\tlives\tlive\tVERB\tVBZ\t_\t0\troot\t_\t{}"]


def read(*misc: str, target: str = "x y", raw: bool = False, columns: str = "UPOS,Entity,NER") -> ConlluSentence:
    """A sentence of two words with these attributes."""
    text = HEAD + "\n".join(row.format(one) for row, one in zip(ROWS, misc, strict=True))
    return ConlluSentence(Unit("file", 5, text, target), raw, columns.split(","))


def written(sentence: ConlluSentence, *places: Label | None) -> list[str]:
    """The MISC of each word of the translation, if the labels have these places."""
    target = sentence.labelled.target
    assert isinstance(target, Sentence)
    text = sentence.written(Projected(target, target, list(places), [], {}))
    return [line.split("\t")[-1] for line in text.split("\n") if line[:1].isdigit()]


@pytest.mark.parametrize(
    ("misc", "labels"),
    [
        (("_", "_"), []),
        (("NER=B-PER", "NER=I-PER"), [Label(0, 10, "PER", "NER")]),
        (("NER=B-PER|Entity=(1-person", "Entity=1)"), [Label(0, 10, "1-person", "Entity"), Label(0, 4, "PER", "NER")]),
        (("Entity=(e1-person)", "_"), [Label(0, 4, "e1-person", "Entity")]),
        (
            ("Entity=(person-1", "Entity=(place-2)person-1)"),
            [(0, 10, "person-1", "Entity"), (5, 10, "place-2", "Entity")],
        ),
        (("Entity=(1-a(2-b", "Entity=1)2)"), [(0, 10, "1-a", "Entity"), (0, 10, "2-b", "Entity")]),
        (("Other=(1-a)|SpaceAfter=No", "_"), []),
    ],
)
def test_spans_in_misc(misc: tuple[str, str], labels: list[Label]) -> None:
    assert read(*misc).labelled.labels == labels


def test_a_sentence_for_the_translation() -> None:
    sentence = read("Entity=(1-person", "Entity=1)", target="x, y", raw=True)
    assert sentence.labelled.tags == {"UPOS": ["PROPN", "VERB"]}
    target = sentence.labelled.target
    assert isinstance(target, Sentence)
    place = Label(0, 4, "1-person", "Entity")
    text = sentence.written(Projected(target, target, [place], [1.0], {"UPOS": ["VERB", None, "PROPN"]}))
    assert text.split("\n") == [
        "# sent_id = 3",
        "# text = x, y",
        "1\tx\t_\tVERB\t_\t_\t_\t_\t_\tEntity=(1-person|SpaceAfter=No",
        "2\t,\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\ty\t_\tPROPN\t_\t_\t_\t_\t_\tEntity=1)",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ((0, 5), (2, 5), ["Entity=(1-a", "Entity=(2-b", "Entity=2)1)"]),
        ((0, 5), (0, 3), ["Entity=(1-a(2-b", "Entity=2)", "Entity=1)"]),
        ((0, 3), (4, 5), ["Entity=(1-a", "Entity=1)", "Entity=(2-b)"]),
        ((0, 3), (2, 5), ["Entity=(1-a", "Entity=1)(2-b", "Entity=2)"]),
    ],
)
def test_brackets(outer: tuple[int, int], inner: tuple[int, int], expected: list[str]) -> None:
    sentence = read("Entity=(1-a(2-b)", "Entity=1)", target="x y z")
    assert written(sentence, Label(*outer, "1-a", "Entity"), Label(*inner, "2-b", "Entity")) == expected


def test_tags_are_written_as_they_were_read() -> None:
    label = Label(2, 3, "PER", "NER")
    assert written(read("NER=B-PER", "_"), label) == ["_", "NER=B-PER"]
    assert written(read("NER=B-PER", "NER=O"), label) == ["NER=O", "NER=B-PER"]


def test_ranges_and_empty_nodes_are_left_out() -> None:
    rows = ["1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "1\tde\t_\tADP\t_\t_\t0\troot\t_\t_", "1.1\te\t_\t_\t_\t_\t_\t_\t_\t_"]
    sentence = ConlluSentence(Unit("file", 1, "\n".join(rows), "x"), False, ["UPOS"])
    assert sentence.labelled.source == Sentence.from_words(["de"])


@pytest.mark.parametrize(
    ("misc", "problem"),
    [
        (("Entity=(1-a", "_"), "does not end"),
        (("_", "Entity=1)"), "ends what has not begun"),
        (("Entity=?", "_"), "expected IOB tags, or brackets"),
        (("Entity=()", "_"), "expected IOB tags, or brackets"),
        (("Entity=" + "a" * 1_000_000, "_"), "expected IOB tags, or brackets"),
        (("Entity=" + "(1-a" * 100_000, "Entity=" + "1)" * 99_999), "does not end"),
    ],
)
def test_bad_spans(misc: tuple[str, str], problem: str) -> None:
    with pytest.raises(BadLine, match=f"file:5: Entity in this sentence: .*{problem}"):
        read(*misc)


def test_bad_rows_and_columns() -> None:
    with pytest.raises(BadLine, match="file:6: expected 10 columns"):
        ConlluSentence(Unit("file", 5, "# a\n1\tAnna", ""), False, [])
    with pytest.raises(WeftError, match="HEAD cannot be projected"):
        check_columns(["UPOS", "Entity", "HEAD"])
