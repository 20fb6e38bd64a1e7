"""Files of links: what is read, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.errors import WeftError
from weft.links import format_links, open_gold, read_gold, read_links
from weft.text.words import Sentence

A3 = "# Sentence pair ({}) source length {} target length {} alignment score : 1\ny\nNULL ({{ }}) {}\n"


def file_of(folder: Path, text: str) -> str:
    (folder / "links").write_text(text, encoding="utf-8")
    return str(folder / "links")


def test_pharaoh_round_trip(tmp_path: Path) -> None:
    lines = list(read_links(file_of(tmp_path, "2-1 0-0  10-3\n\n0-0 0-0\n")))
    assert [line.sure for line in lines] == [{(0, 0), (2, 1), (10, 3)}, frozenset(), {(0, 0)}]
    assert [format_links(line.sure) for line in lines] == ["0-0 2-1 10-3", "", "0-0"]


def test_gold_has_sure_and_possible_links_counted_from_one(tmp_path: Path) -> None:
    (line,) = read_gold(file_of(tmp_path, "1-1 2p3\n"))
    assert line.sure == {(0, 0)} and line.possible == {(0, 0), (1, 2)}
    (line,) = read_gold(file_of(tmp_path, "0-0 1p2\n"), base=0)
    assert line.sure == {(0, 0)} and line.possible == {(0, 0), (1, 2)}


def test_naacl_format(tmp_path: Path) -> None:
    text = "0001 1 1\n0001 2 3 P\n0001 0 2 S\n0003 1 2 S\n0003 2 1 P 0.5\n"
    first, second, third = read_gold(file_of(tmp_path, text))
    assert first.sure == {(0, 0)} and first.possible == {(0, 0), (1, 2)}  # the null word links nothing
    assert second.possible == frozenset()
    assert third.sure == {(0, 1)} and third.possible == {(0, 1), (1, 0)}
    assert read_gold(file_of(tmp_path, text), form="naacl") == [first, second, third]


@pytest.mark.parametrize(
    "text",
    [
        "0-0 2-1\n\n1-0\n",
        "0-0:0.994 2-1:1.000\n\n1-0:0.5\n",  # weft align --format probabilities
        "0-0 2-1 ||| -12.5083\n ||| -1e-05\n1-0 ||| -inf\n",  # fast_align -s
        "1\t0-0 2-1\n2\t\n3\t1-0\n",  # SimAlign
        "0-0 2-1 \r\n\r\n1-0 \r\n",
        "1 1 1\n1 3 2\n3 2 1 S\n",  # NAACL 2003
        "# Sentence pair (1) source length 3 target length 2 alignment score : 0.00163\nthe house\n"
        "NULL ({ }) das ({ 1 }) ({ ({ }) Haus ({ 2 }) \n"
        "# Sentence pair (2) source length 1 target length 1 alignment score : 1e-09\nyes\nNULL ({ 1 }) ja ({ }) \n"
        "# Sentence pair (3) source length 2 target length 1 alignment score : 1\nßא\nNULL ({ }) }) ({ }) ß ({ 1 }) \n",
    ],
    ids=["pharaoh", "probabilities", "scores", "numbers", "white space", "naacl", "giza"],
)
def test_files_of_aligners(text: str, tmp_path: Path) -> None:
    expected = ["0-0 2-1", "", "1-0"]
    assert [format_links(line.sure) for line in read_links(file_of(tmp_path, text))] == expected


def test_all_signs_of_sure_and_possible_links(tmp_path: Path) -> None:
    (line,) = read_gold(file_of(tmp_path, "1-1 2s2 3p3 4?4\n"))
    assert line.sure == {(0, 0), (1, 1)} and line.possible - line.sure == {(2, 2), (3, 3)}


def test_what_weft_writes_weft_reads(tmp_path: Path) -> None:
    words = Sentence.from_words(["a b", "c", "({"]), Sentence.from_words(["x"])
    alignments = [Alignment(*words, {(0, 0): 0.994, (2, 0): 1e-9}, 0.5), Alignment(*words)]
    for form in ("pharaoh", "probabilities", "giza"):
        text = "".join(FORMATS[form].one(one, number) for number, one in enumerate(alignments, 1))
        assert [line.sure for line in read_links(file_of(tmp_path, text))] == [one.links for one in alignments]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n0-0 ||| das Haus\n", r"links:2: expected a score after \|\|\|"),
        ("0-0 1-1-1\n", "links:1: '1-1-1' is not a link"),
        ("0-0\n1\t2\t0-0\n", "links:2: '2' is not a link"),
        (A3.format(1, 1, 1, "x ({ 1 })") * 2, "links:4: pair 1, but 2 is next; merge MGIZA's parts first"),
        (A3.format(1, 2, 1, "x ({ 1 })"), r"links:1: expected three lines .* \(A3\)"),
        (A3.format(1, 1, 1, "x ({ 2 })"), "links:1: a link leads out of a target sentence of 1 words"),
        (A3.format(1, 1, 1, "x ({ 0 })"), "links:1: a link leads out of a target sentence of 1 words"),
        (A3.format(1, 1, 1, "x ({ 1 }"), "links:1: expected three lines"),
        (A3.format(1, 1, 1, "x ({ 1 })") + "# Sentence pair (2)\n", "links:4: expected three lines"),
    ],
)
def test_bad_links_of_aligners_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=message):
        list(read_links(file_of(tmp_path, text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1-1\n2-x\n", "links:2: '2-x' is not a link"),
        ("1-1\n1-1 0-1\n", "links:2: link 0-1 cannot be in a file that counts from one"),
        ("1-1\n–\n", "links:2: not a line of links"),
        ("0001 1 1 S\n0001 1\n", "links:2: not of the form"),
        ("0001 1 1 S\n0000 1 1\n", "links:2: not of the form"),
        ("1-1\n" + "9" * 5_000 + "-1\n", "links:2: '9{50}' is not a link"),
        ("0001 1 1 S\n" + "9" * 5_000 + " 1 1\n", "links:2: not of the form"),
        ("50000000 1 1 S\n", "links:1: sentence 50,000,000, but .* has links of 1 sentences"),
    ],
)
def test_bad_gold_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        read_gold(file_of(tmp_path, text))


def test_links_out_of_range_are_named(tmp_path: Path) -> None:
    (line,) = read_gold(file_of(tmp_path, "1-1 3p2\n"))
    line.check(3, 2)
    with pytest.raises(WeftError, match=r"links:1: link 2-1 .* leads out of sentences of 2 and 2 words"):
        line.check(2, 2)
    with pytest.raises(WeftError, match="links:1"):
        line.check(3, 1)


def test_files_of_links_are_read_line_by_line(tmp_path: Path) -> None:
    lines = read_links(file_of(tmp_path, "0-0\n1-1\nbad\n"))
    assert [next(lines).sure, next(lines).sure] == [{(0, 0)}, {(1, 1)}]
    with pytest.raises(WeftError, match=r"links:3: 'bad' is not a link"):
        next(lines)


def test_gold_says_what_form_it_has(tmp_path: Path) -> None:
    text = "\n1 1 1 S\n"
    assert open_gold(file_of(tmp_path, text)).form == "naacl"
    assert open_gold(file_of(tmp_path, text), form="naacl", base=0).base == 1
    gold = open_gold(file_of(tmp_path, "\n\n0-0\n"), base=0)
    assert (gold.form, gold.base) == ("links", 0)
    assert [len(line.possible) for line in gold.lines] == [0, 0, 1]
    assert list(open_gold(file_of(tmp_path, "")).lines) == []
