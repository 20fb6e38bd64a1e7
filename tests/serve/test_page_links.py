"""Files of links, scores and places in text: the page reads and counts as Python does."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_browser import code_point_spans, run
from playwright.sync_api import Page

from weft.errors import WeftError
from weft.links import read_gold
from weft.scoring import score

FILES = [
    (["1-1 2p3", "", "4-4  4p4 10-9"], 1),
    (["0-0 1p2 ", "\t", "3-3"], 0),
    (["0001 1 1 S", "1 2 3 P", "", "3 1 2", "3 0 2 S 0.5", "5 2 1 P"], 1),
    ([], 1),
]
BROKEN = [(["1-1", "2x3"], 1), (["1-1 0-1"], 1), (["1 1 1", "0 1 1"], 1), (["1 1 1", "99999 1 1"], 1)]


def parsed(page: Page, lines: list[str], base: int) -> list[list[list[str]]] | str:
    """What the page reads in lines of links: sure and possible links of each pair, or what is wrong."""
    function = """([lines, base]) => {
        try {
            return weft.linkFiles.parseLinks(lines, base).map(({ sure, possible }) => [[...sure], [...possible]]);
        } catch (error) {
            return error.message;
        }
    }"""
    return run(page, function, [lines, base])


@pytest.mark.parametrize(("lines", "base"), FILES)
def test_files_of_links_are_read_as_in_python(page: Page, tmp_path: Path, lines: list[str], base: int) -> None:
    path = tmp_path / "links"
    path.write_text("".join(f"{line}\n" for line in lines))
    found = parsed(page, lines, base)
    expected = [
        ({f"{i}-{j}" for i, j in one.sure}, {f"{i}-{j}" for i, j in one.possible}) for one in read_gold(str(path), base)
    ]
    assert [(set(sure), set(possible)) for sure, possible in found] == expected
    assert run(page, "(lines) => weft.linkFiles.guessBase(lines)", lines) == base


@pytest.mark.parametrize(("lines", "base"), BROKEN)
def test_what_python_refuses_is_refused(page: Page, tmp_path: Path, lines: list[str], base: int) -> None:
    path = tmp_path / "links"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(WeftError):
        read_gold(str(path), base)
    assert isinstance(parsed(page, lines, base), str)


def test_scores_are_those_of_python(page: Page, tmp_path: Path) -> None:
    lines, systems = ["1-1 2p2 3-3", "", "2-1 1p2"], [["0-0", "1-1", "5-5"], ["0-0"], []]
    (tmp_path / "gold").write_text("".join(f"{line}\n" for line in lines))
    function = """([lines, systems]) => {
        const gold = weft.linkFiles.parseLinks(lines, 1);
        return weft.linkFiles.scoreOf(systems.map((links, place) => weft.linkFiles.countLinks(links, gold[place])));
    }"""
    found = run(page, function, [lines, systems])
    links = [frozenset((int(one[0]), int(one[2])) for one in system) for system in systems]
    expected = score(links, read_gold(str(tmp_path / "gold")))
    assert found["aer"] == pytest.approx(expected.aer) and found["recall"] == pytest.approx(expected.recall)
    assert found["precision"] == pytest.approx(expected.precision) and found["pairs"] == 3
    assert run(page, "() => weft.linkFiles.scoreOf([]).aer", None) == 0


@pytest.mark.parametrize("text", ["", "das Haus", "😀 a😀😀b é", "한국어 🇩🇪"])
def test_places_are_counted_as_in_python_and_back(page: Page, text: str) -> None:
    spans = [(start, end) for start in range(len(text) + 1) for end in range(start, len(text) + 1)]
    there = run(page, "([text, spans]) => weft.offsets.toStringSpans(text, spans)", [text, spans])
    assert code_point_spans(text, there) == spans
    back = run(page, "([text, spans]) => weft.offsets.toCodePointSpans(text, spans)", [text, there])
    assert [tuple(span) for span in back] == spans
