"""Files of links: what is read, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.links import format_links, open_gold, read_gold, read_links


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
