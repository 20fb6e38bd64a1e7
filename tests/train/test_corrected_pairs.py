"""Corrected pairs: as the page exports them, or with a file of gold; what each word is taught to attend to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.align.model_folder import find_model, read_aligner
from weft.errors import WeftError
from weft.links import parse_links
from weft.text.subwords import Subwords
from weft.text.words import Sentence
from weft.train.corrected_pairs import CorrectedPair, TaughtPair, read_corrected

# Two lines that the page wrote: links of the first were corrected, nobody has looked at those of the second.
CHECKED = (
    '{"source":{"text":"Das Haus.","words":["Das","Haus","."],"offsets":[[0,3],[4,8],[8,9]]},'
    '"target":{"text":"The 😀 house.","words":["The","😀","house","."],"offsets":[[0,3],[4,5],[6,11],[11,12]]},'
    '"links":[[0,0,0.9871],[0,1,0],[1,2,0.9934],[2,3,0.9986]],"score":0.9742,"checked":true,"possible":[[0,1]],'
    '"automatic":[[0,0,0.9871],[1,2,0.9934],[2,3,0.9986]]}\n'
)
UNCHECKED = (
    '{"source":{"text":"Ja!","words":["Ja","!"],"offsets":[[0,2],[2,3]]},'
    '"target":{"text":"Yes!","words":["Yes","!"],"offsets":[[0,3],[3,4]]},"links":[[0,0,0.99],[1,1,0.99]],"score":0.9}\n'
)


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return read_aligner(find_model("multi")).subwords


def written(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content, encoding="utf-8")
    return str(folder / name)


def test_pairs_that_were_checked_on_the_page(tmp_path: Path) -> None:
    (pair,) = read_corrected(written(tmp_path, "pairs.jsonl", UNCHECKED + CHECKED + UNCHECKED))
    assert pair.source.words == ["Das", "Haus", "."] and pair.target.words == ["The", "😀", "house", "."]
    assert pair.links.sure == {(0, 0), (1, 2), (2, 3)} and pair.links.possible == pair.links.sure | {(0, 1)}


def test_text_and_gold(tmp_path: Path) -> None:
    text = written(tmp_path, "words.tsv", "Das Haus .\tThe house .\n\t\nJa\tYes\n")
    from_one = read_corrected(text, written(tmp_path, "gold.txt", "1-1 2p2 3-3\n\n1-1\n"))
    from_zero = read_corrected(text, written(tmp_path, "links.txt", "0-0 1p1 2-2\n\n0-0\n"), gold_base=0)
    naacl = read_corrected(text, written(tmp_path, "naacl.txt", "1 1 1 S\n1 2 2 P\n1 3 3 S\n3 1 1 S\n"))
    for pairs in (list(from_one), list(from_zero), list(naacl)):
        assert [pair.texts for pair in pairs] == [("Das Haus .", "The house ."), ("", ""), ("Ja", "Yes")]
        assert [pair.links.sure for pair in pairs] == [{(0, 0), (2, 2)}, set(), {(0, 0)}]
        assert pairs[0].links.possible == {(0, 0), (1, 1), (2, 2)}


def changed(**members: Any) -> str:
    return json.dumps(json.loads(CHECKED) | members) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (UNCHECKED, r"pairs\.jsonl: no pair is checked; correct some on the page, or give their links with --gold"),
        (UNCHECKED + "no JSON\n", r'pairs\.jsonl:2: expected an object with "source" and "target"'),
        (CHECKED + changed(links=[[0, 4, 1]]), r"pairs\.jsonl:2: link 0-4 .* leads out of sentences of 3 and 4 words"),
        (changed(links=[[-1, 0]]), r'pairs\.jsonl:1: a checked pair needs "offsets" .* and "links"'),
        (changed(links=[3]), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(links=None), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(possible=[[0]]), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(source="Das Haus"), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(source={"text": "Das", "offsets": [[0, 9]]}), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(source={"text": "Das", "offsets": [[2, 3], [0, 1]]}), r"pairs\.jsonl:1: a checked pair needs"),
        (changed(source={"text": "Das", "offsets": [[True, 3]]}), r"pairs\.jsonl:1: a checked pair needs"),
    ],
)
def test_bad_lines_of_the_page_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        list(read_corrected(written(tmp_path, "pairs.jsonl", content)))


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (None, r"words\.tsv: give the links of its lines with --gold, or the \.jsonl file"),
        ("1-1\n", r"words\.tsv has 2 sentence pairs but .*gold has 1;"),
        ("1-1\n1-2\n", r"gold:2: link 0-1 \(counted from zero\) leads out of sentences of 1 and 1 words"),
        ("1-1\n0-0\n", r"gold:2: link 0-0 cannot be in a file that counts from one"),
        ("1-1\n1=1\n", r"gold:2: '1=1' is not a link"),
        ("\n\n", r"gold: no links in it"),
    ],
)
def test_bad_gold_is_named(tmp_path: Path, gold: str | None, message: str) -> None:
    text = written(tmp_path, "words.tsv", "Das Haus\tThe house\nJa\tYes\n")
    with pytest.raises(WeftError, match=message):
        list(read_corrected(text, gold and written(tmp_path, "gold", gold)))


def taught(subwords: Subwords, source: Sentence, target: Sentence, links: bytes) -> TaughtPair:
    return TaughtPair.of(CorrectedPair(source, target, parse_links(links, "", 1)), subwords)


def test_words_share_their_attention_among_their_links(subwords: Subwords) -> None:
    source, target = Sentence.from_text("wir gehen zum Haus ja"), Sentence.from_text("we go to the house")
    pair = taught(subwords, source, target, b"0-0 1-1 2-2 2-3 1p2 3p3 3p4")
    assert pair.forward.tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],  # what is surely linked is not taught what is possible
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],  # possible links alone
    ]
    assert pair.backward.T.tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 0.5, 0.5, 0],
        [0, 0, 0, 0.5, 0.5],
        [0, 0, 0, 0, 0],  # no link
    ]


def test_words_are_those_of_the_user(subwords: Subwords) -> None:
    """Words of several units are one word; a piece of several words has the links of all of them."""
    source, target = Sentence.from_text("Haus- und-Hof ."), Sentence.from_text("house-and-yard.")
    pair = taught(subwords, source, target, b"0-0 1-0 2-0")
    assert pair.forward.tolist() == [[1 / 3] * 3] and pair.backward.tolist() == [[1, 1, 1]]
    assert [words.max() + 1 for words in pair.words] == [3, 1]
    text = "我们在北京。"
    letters = Sentence(text, tuple((place, place + 1) for place in range(len(text))), raw=True)
    pair = taught(subwords, letters, Sentence.from_text("we in Peking ."), b"0-0 1-0 2-1 3-2 4-2 5-3")
    pieces = len(pair.pieces[0].ids)
    assert pieces < len(text) and pair.forward.shape == (4, pieces)
    assert np.allclose(pair.forward.sum(1), 1) and np.allclose(pair.backward.sum(0), 1)


def test_a_side_without_words(subwords: Subwords) -> None:
    pair = taught(subwords, Sentence.from_text(""), Sentence.from_text("we"), b"")
    assert len(pair.pieces[0].ids) == 0 and pair.forward.shape == (1, 0)
