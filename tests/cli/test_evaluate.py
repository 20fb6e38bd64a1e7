"""``weft evaluate`` as users run it."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from pathlib import Path
from typing import Literal

import pytest

from weft.cli.evaluate import evaluate
from weft.errors import WeftError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sentence pairs, their gold, and two systems."""
    monkeypatch.chdir(tmp_path)
    files = {
        "source": "das alte haus\nja\n",
        "target": "the old house\nyes\n",
        "gold": "1-1 2-2 3p3\n1-1\n",
        "good": "0-0 1-1 2-2\n0-0\n",
        "bad": "0-0 2-1\n\n",
        "short": "0-0\n",
        "far": "0-0 7-0\n\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run_evaluate(*systems: str, gold_base: Literal[0, 1] = 1, text: bool = True, errors: int = 0) -> None:
    source, target = ("source", "target") if text else (None, None)
    evaluate("gold", systems, source=source, target=target, gold_base=gold_base, errors=errors, resamples=100)


def test_evaluate_prints_table_comparison_errors_and_signature(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_evaluate("good", "bad", errors=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["system", "AER"]
    assert lines[1].split()[:2] == ["good", "0.00"]
    # bad: A = 2, S = 3, A∩S = 1, A∩P = 1
    assert lines[2].split()[:2] == ["bad", "60.00"] and "50.00" in lines[2] and "33.33" in lines[2]
    assert lines[3].startswith("bad − good: +60.00 AER")
    assert "bad, most often linked wrongly: haus–old 1" in lines
    assert "good, most often missed: nothing" in lines
    assert lines[-1].startswith("sentences:2|")


@pytest.mark.parametrize(
    ("systems", "gold_base", "message"),
    [
        (("short",), 1, "gold has 2 sentence pairs but short has 1; "),
        (("far",), 1, r"far:1: link 7-0 .* leads out"),
        (("good",), 0, r"gold:1: link 3-3 .* leads out .* count from one"),
        ((), 1, "no file of links"),
        (("missing",), 1, "missing: No such file"),
    ],
)
def test_bad_input_is_named(folder: Path, systems: tuple[str, ...], gold_base: Literal[0, 1], message: str) -> None:
    with pytest.raises(WeftError, match=message):
        run_evaluate(*systems, gold_base=gold_base)


def test_words_need_both_texts(folder: Path) -> None:
    with pytest.raises(WeftError, match="give --source and --target"):
        run_evaluate("good", text=False, errors=3)
    with pytest.raises(WeftError, match="give --source and --target"):
        evaluate("gold", ("good",), source="source")


def test_the_same_file_twice_is_two_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_evaluate("good", "good")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["system", "good", "good"]
    assert lines[3].startswith("good − good: +0.00 AER") and lines[3].endswith("p = 1.000")


@pytest.mark.parametrize(
    ("errors", "resamples", "seed", "message"),
    [
        (0, 0, 1, "--resamples must be at least 1, but is 0"),
        (0, -1, 1, "--resamples must be at least 1, but is -1"),
        (0, 100, -1, "--seed must be at least 0, but is -1"),
        (-1, 100, 1, "--errors must be at least 0, but is -1"),
    ],
)
def test_numbers_that_make_no_sense(folder: Path, errors: int, resamples: int, seed: int, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        evaluate("gold", ("good",), source="source", target="target", errors=errors, resamples=resamples, seed=seed)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_gold_without_links_is_an_error(text: str, folder: Path) -> None:
    for name in ("gold", "empty"):
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(WeftError, match="gold: no gold links in it"):
        run_evaluate("empty", text=False)


def test_the_signature_says_what_was_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_evaluate("good")
    assert "|gold:links,sure+possible,base:1|" in capsys.readouterr().out.splitlines()[-1]
    (folder / "gold").write_text("1 1 1 S\n2 1 1 S\n", encoding="utf-8")
    run_evaluate("good", gold_base=0)
    assert "|gold:naacl,sure+possible|" in capsys.readouterr().out.splitlines()[-1]


def test_stdin_is_read_once(folder: Path) -> None:
    with pytest.raises(WeftError, match="only once"):
        run_evaluate("-", "-")


def test_the_table_can_be_written_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("gold", ("good", "bad"), resamples=100, output="table")
    assert capsys.readouterr().out == ""
    run_evaluate("good", "bad", text=False)
    assert (folder / "table").read_text(encoding="utf-8") == capsys.readouterr().out


def test_names_cannot_harm_a_table(folder: Path) -> None:
    """Names may have line feeds, and bytes that are no UTF-8."""
    names = ("a\nb", os.fsdecode(b"c\xff"))
    for name in names:
        shutil.copy(folder / "good", folder / name)
    evaluate("gold", names, resamples=10, output="table")
    table = (folder / "table").read_text(encoding="utf-8").splitlines()
    assert len(table) == 5 and table[1].startswith("a\\nb") and table[2].startswith("c\\udcff")
    assert table[3].startswith("c\\udcff − a\\nb: +0.00 AER")


def test_words_cannot_harm_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "source").write_text("das alte ha\x1b[2Jus\nja\n", encoding="utf-8")
    run_evaluate("bad", errors=3)
    assert "ha\\x1b[2Jus–old 1" in capsys.readouterr().out


def test_only_counts_are_kept(folder: Path) -> None:
    line = " ".join(f"{number}-{number}" for number in range(25)) + "\n"
    for name, text in (("gold", line.replace("0-0 ", "")), ("good", line), ("bad", line)):
        (folder / name).write_text(text * 4_000, encoding="utf-8")
    tracemalloc.start()
    run_evaluate("good", "bad", text=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000  # the links of one file as sets are about 16 MB


def test_gold_of_content_words_judges_only_words_that_it_links(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "gold").write_text(
        "1-1 3-3\n\n"
    )  # the second word of the first pair, and the second pair, are not judged
    (folder / "system").write_text("0-0 1-1 2-0\n0-0\n")
    evaluate("gold", ("system",), source="source", target="target", content_words=True, errors=2, resamples=100)
    shown = capsys.readouterr().out
    assert "system  50.00" in shown and shown.splitlines()[1].endswith(" 2")  # 0-0 is right, 2-0 wrong, 2-2 missed
    assert "linked wrongly: haus–the 1\n" in shown
    assert "|words:content|" in shown.splitlines()[-1]
    evaluate("gold", ("system",), resamples=100)
    assert "words:content" not in capsys.readouterr().out
