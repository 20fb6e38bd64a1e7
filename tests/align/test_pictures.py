"""Pictures of sentence pairs: the grid in the terminal, files that matplotlib draws, and ``weft show``."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from weft.align.pictures import Panel, Picture, draw, letters, terminal_grid
from weft.cli import main
from weft.cli.show import show
from weft.errors import WeftError
from weft.links import LinkLine, Links, read_gold

DOCS = Path(__file__).parents[2] / "docs"


def links(*pairs: tuple[int, int]) -> Links:
    return frozenset(pairs)


def gold(sure: Links, possible: Links = frozenset()) -> LinkLine:
    return LinkLine("gold", sure, sure | possible)


def words_of(path: Path) -> list[str]:
    """The texts of an SVG file, which must be well-formed."""
    found = xml.etree.ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in found]


def test_grid_of_links_new_links_and_gold() -> None:
    panels = (
        Panel("one way", links((0, 0), (2, 1))),
        Panel("both", links((0, 0), (1, 1)), new=links((1, 1))),
    )
    picture = Picture(["das", "alte", "Haus"], ["the", "house"], panels, gold(links((0, 0), (2, 1)), links((1, 1))))
    assert terminal_grid(picture).splitlines() == [
        "one way",
        "           a  H",
        "        d  l  a",
        "        a  t  u",
        "        s  e  s",
        "      ┌─────────",
        "  the │[●] ·  ·",
        "house │ · (·)[●]",
        "",
        "both",
        "           a  H",
        "        d  l  a",
        "        a  t  u",
        "        s  e  s",
        "      ┌─────────",
        "  the │[●] ·  ·",
        "house │ · (◆)[·]",
        "",
        "● link   ◆ link in no other panel   [ ] sure in gold   ( ) possible in gold",
    ]


def test_grid_of_attention_has_shades_where_there_is_no_link() -> None:
    attention = np.array([[0.0, 0.25, 0.5], [0.75, 1.0, 1.0]])
    picture = Picture(list("abc"), list("xy"), (Panel("forward", links((2, 1)), attention),), gold(links((1, 1))))
    assert terminal_grid(picture).splitlines() == [
        "forward",
        "    a  b  c",
        "  ┌─────────",
        "x │ · ░░░▒▒▒",
        "y │▓▓▓[█] ●",
        "",
        "● link   [ ] sure in gold   ░▒▓█ attention",
    ]


def test_wide_letters_and_combining_marks_keep_the_columns() -> None:
    picture = Picture(["北京", "cafe\u0301", "s\u030c\u0331"], ["北京", "x\u0323y", "is"], (Panel("p", links((2, 2))),))
    assert terminal_grid(picture).splitlines()[:8] == [
        "p",
        "          c",
        "          a",
        "       北 f",
        "       京 é  š\u0331",
        "     ┌─────────",
        "北京 │ ·  ·  ·",
        "  x\u0323y │ ·  ·  ·",
    ]


def test_words_from_right_to_left_do_not_turn_the_grid_around() -> None:
    def turned(text: str) -> str:
        return f"\u200e{text}\u200e"  # marks that have no width

    picture = Picture(["بيت", "a", "לא"], ["هذا", "٣"], (Panel("", links((2, 0))),))
    assert terminal_grid(picture).splitlines()[:6] == [
        "      " + turned("ب"),
        "      " + turned("ي") + "     " + turned("ל"),
        "      " + turned("ت") + "  a  " + turned("א"),
        "    ┌─────────",
        turned("هذا") + " │ ·  ·  ●",
        "  " + turned("٣") + " │ ·  ·  ·",
    ]


def test_letters_keep_their_marks_lose_what_terminals_obey_and_come_to_an_end() -> None:
    assert letters("ae\u0301👩\u200d👧b") == ["a", "e\u0301", "👩\u200d👧", "b"]
    assert letters("\x1b[0m\ufffe\u2028") == ["�", "[", "0", "m", "�", "�"]
    assert letters("\u202eab") == ["�", "a", "b"]  # which would turn the rest of the line around
    assert "".join(letters("x" * 24)) == "x" * 24
    assert "".join(letters("x" * 25)) == "x" * 23 + "…"


def test_attention_must_be_target_by_source() -> None:
    with pytest.raises(ValueError, match=r"forward: attention is \(1, 2\), not \(target, source\) \(2, 1\)"):
        Picture(["a"], ["b", "c"], (Panel("forward", attention=np.zeros((1, 2))),))


def test_words_of_any_script_are_in_the_svg(tmp_path: Path) -> None:
    words = ["$5", "$x$", "a<b", "&", "北京", "كتاب", "😀", "e\u0301", "हिन्दी", "\\frac"]
    diagonal = frozenset((number, number) for number in range(len(words)))
    draw(Picture(words, words[::-1], (Panel("a_$b$", diagonal), Panel("<c>", diagonal))), tmp_path / "odd.svg")
    assert sorted(words_of(tmp_path / "odd.svg")) == sorted([*words * 3, "a_$b$", "<c>", "link"])
    draw(Picture(["\x00\x1b"], ["\uffff"], (Panel("control"),)), tmp_path / "control.svg")
    assert words_of(tmp_path / "control.svg") == ["�", "��", "control"]


def test_the_same_picture_is_the_same_file_and_says_what_its_signs_mean(tmp_path: Path) -> None:
    attention = np.linspace(0, 1, 6).reshape(3, 2)
    panels = (Panel("forward", links((0, 0)), attention), Panel("both", links((1, 1)), attention, links((1, 1))))
    picture = Picture(["a", "b"], ["x", "y", "z"], panels, gold(links((0, 0)), links((1, 2))))
    for name in ("one.svg", "two.svg", "one.pdf", "two.pdf", "one.png", "two.png"):
        draw(picture, tmp_path / name)
    for ending, magic in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        content = (tmp_path / f"one.{ending}").read_bytes()
        assert content.startswith(magic) and content == (tmp_path / f"two.{ending}").read_bytes()
    legend = ["link", "link in no other panel", "sure in gold", "possible in gold", "attention"]
    assert words_of(tmp_path / "one.svg")[-5:] == legend


def test_long_sentences_repeat_target_words_at_every_panel(tmp_path: Path) -> None:
    for length, times in ((15, 1), (16, 2)):
        draw(Picture(["s"] * length, ["target"], (Panel("p"), Panel("q"))), tmp_path / "long.svg")
        assert words_of(tmp_path / "long.svg").count("target") == times


@pytest.mark.parametrize("source", [[], ["a"]])
@pytest.mark.parametrize("target", [[], ["b"]])
def test_empty_sentences_can_be_shown(source: list[str], target: list[str], tmp_path: Path) -> None:
    picture = Picture(source, target, (Panel("p", attention=np.zeros((len(target), len(source)))),))
    assert terminal_grid(picture).startswith("p\n")
    draw(picture, tmp_path / "empty.svg")
    assert words_of(tmp_path / "empty.svg") == [*target, *source, "p"]


def test_files_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    picture = Picture(["a"], ["b"], (Panel("p"),))
    with pytest.raises(WeftError, match=r"pair\.gif: a picture ends in \.svg, \.png, \.pdf"):
        draw(picture, tmp_path / "pair.gif")
    with pytest.raises(WeftError, match=r"missing/pair\.svg: its folder is missing; choose another"):
        draw(picture, tmp_path / "missing" / "pair.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(WeftError, match=r"folder\.svg: is a folder"):
        draw(picture, tmp_path / "folder.svg")
    (tmp_path / "file").touch()
    with pytest.raises(WeftError, match=r"file/pair\.svg: its folder is missing"):
        draw(picture, tmp_path / "file" / "pair.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.svg"]


def test_pictures_of_very_long_sentences_have_fewer_pixels(tmp_path: Path) -> None:
    draw(Picture(["a"] * 500, ["b"], (Panel("p"),)), tmp_path / "long.png")
    width = int.from_bytes((tmp_path / "long.png").read_bytes()[16:20], "big")  # in the header of a PNG
    assert 10_000 <= width < 10_200  # cells, and a margin


def test_the_program_in_the_documentation_draws_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", (DOCS / "pictures.md").read_text(encoding="utf-8"), re.DOTALL)
    exec(program, {})
    assert words_of(tmp_path / "alignment-example.svg") == words_of(DOCS / "alignment-example.svg")


def test_pictures_of_mistakes_are_of_the_sentences_in_the_examples() -> None:
    name = str(DOCS.parent / "examples" / "mistakes")
    sides = [Path(f"{name}.{side}").read_text("utf-8").splitlines() for side in ("source", "target")]
    for number, (source, target, line) in enumerate(zip(*sides, read_gold(f"{name}.gold"), strict=True), 1):
        words = target.split() + source.split()
        line.check(len(source.split()), len(target.split()))
        assert words_of(DOCS / f"mistake-{number}.svg")[: len(words)] == words


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sentence pairs, their gold, and the links of three systems."""
    monkeypatch.chdir(tmp_path)
    files = {
        "source": "das Haus\nja\n",
        "target": "the house\noh yes\n",
        "gold": "1-1 2-2\n1-2 1p1\n",
        "forward": "0-0\n0-1\n",
        "backward": "1-0\n\n",
        "both": "0-0 1-1\n0-0 0-1\n",
        "short": "0-0\n",
        "far": "0-0\n7-0\n",
        "empty": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run_show(
    *files: str,
    lines: tuple[int, ...] = (1,),
    target: str = "target",
    gold: str | None = None,
    gold_base: Literal[0, 1] = 1,
    new: bool = False,
    output: str | None = None,
) -> None:
    place = Path(output) if output else None
    show("source", target, files, line=lines, gold=gold, gold_base=gold_base, new=new, output=place)


def test_show_prints_the_chosen_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_show("forward", "backward", "both", lines=(2, 1), gold="gold", new=True)
    second, first = capsys.readouterr().out.split("\n\nline 1\n")
    assert second.splitlines() == [
        *["line 2", "", "forward", "      j", "      a", "    ┌───", " oh │(·)", "yes │[●]", ""],
        *["backward", "      j", "      a", "    ┌───", " oh │(·)", "yes │[·]", ""],
        *["both", "      j", "      a", "    ┌───", " oh │(◆)", "yes │[●]", ""],
        "● link   ◆ link in no other panel   [ ] sure in gold   ( ) possible in gold",
    ]
    assert "  the │[●] ·\nhouse │ · [◆]" in first


def test_panels_have_the_names_of_files_and_of_folders_where_these_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "both").write_text("0-0\n\n")
    run_show("other/both")
    assert capsys.readouterr().out.splitlines()[2] == "both"
    run_show("both", "other/both")
    assert "\nother/both\n" in capsys.readouterr().out


def test_bad_input_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.iterdir())
    for message, call in {
        "nothing to show: give files of links": lambda: run_show(),
        "three files of links": lambda: run_show("forward", "both", new=True),
        "pair.svg: a picture shows one line, but --line names 2": lambda: run_show(
            "both", lines=(1, 2), output="pair.svg"
        ),
        "--line 3: source has 2 lines, counted from one": lambda: run_show("both", lines=(1, 3)),
        "--line 0: source has 2 lines": lambda: run_show("both", lines=(0,), output="pair.svg"),
        "source has 2 sentences but short has 1": lambda: run_show("both", "short"),
        "source has 2 sentences but empty has 0": lambda: run_show("both", gold="empty"),
        "only once": lambda: run_show("-", gold="-"),
        "target-less: No such file": lambda: run_show("both", target="target-less"),
        r"far:2: link 7-0 .* leads out of sentences of 1 and 2 words": lambda: run_show("far", lines=(2,)),
        r"gold:1: link 2-2 .* leads out": lambda: run_show("both", gold="gold", gold_base=0),
    }.items():
        with pytest.raises(WeftError, match=message):
            call()
    assert capsys.readouterr().out == "" and sorted(folder.iterdir()) == before


def test_the_command_shows_and_draws(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def weft(*arguments: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["weft", "show", "source", "target", *arguments])
        main()
        captured = capsys.readouterr()
        return captured.out, captured.err

    output, _ = weft("both")
    assert "  the │ ●  ·\nhouse │ ·  ●\n" in output
    drawn = weft("forward", "backward", "both", "--new", "--gold", "gold", "--line", "2", "-o", "pair.svg")
    assert drawn == ("", "")
    assert words_of(folder / "pair.svg")[:4] == ["oh", "yes", "ja", "forward"]
    with pytest.raises(SystemExit, match="1"):
        weft("both", "--line", "9")
    assert capsys.readouterr().err == "weft: --line 9: source has 2 lines, counted from one\n"
