"""``weft symmetrize`` and ``weft evaluate`` as users run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.evaluate import evaluate_files
from weft.cli.symmetrize import symmetrize_files
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
        "reverse": "0-0 1-2\n\n",
        "short": "0-0\n",
        "far": "0-0 7-0\n\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run_evaluate(*systems: str, gold_base: int = 1, text: bool = True, errors: int = 0) -> None:
    source, target = ("source", "target") if text else (None, None)
    evaluate_files("gold", systems, source, target, gold_base, "auto", errors, 100, 1)


def test_symmetrize(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    symmetrize_files("good", "bad", "intersection", reversed=False)
    assert capsys.readouterr().out == "0-0\n\n"
    symmetrize_files("bad", "reverse", "union", reversed=True)
    assert capsys.readouterr().out == "0-0 2-1\n\n"


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
        (("short",), 1, "short has 1 lines but gold has 2 sentences"),
        (("far",), 1, r"far:1: link 7-0 .* leads out"),
        (("good",), 0, r"gold:1: link 3-3 .* leads out .* count from one"),
        ((), 1, "no file of links"),
        (("missing",), 1, "missing: No such file"),
    ],
)
def test_bad_input_is_named(folder: Path, systems: tuple[str, ...], gold_base: int, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        run_evaluate(*systems, gold_base=gold_base)


def test_errors_need_text_and_files_need_as_many_lines(folder: Path) -> None:
    with pytest.raises(WeftError, match="give --source and --target"):
        run_evaluate("good", text=False, errors=3)
    with pytest.raises(WeftError, match="good has 2 lines but short has 1"):
        symmetrize_files("good", "short", "union", reversed=False)
