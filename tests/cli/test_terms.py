"""``weft terms`` as users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = """\
Das alte Haus gehört meiner Schwester.\tThe old house belongs to my sister.
Unsere alten Häuser stehen leer.\tOur old houses are empty.
only one side
Dieses Haus ist groß.\tThis building is large.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "glossary.tsv").write_text("source\ttarget\nHaus\thouse\nSchwester\tsister|sibling\n", "utf-8")
    (tmp_path / "text.tsv").write_text(TEXT, "utf-8")
    return tmp_path


def weft(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "weft", "terms", *arguments], capture_output=True, text=True)


def test_a_line_for_each_term_and_a_summary(folder: Path) -> None:
    done = weft("glossary.tsv", "text.tsv")
    assert done.stdout.splitlines() == [
        "line\tverdict\tterm\tagreed\tfound\tsource\ttarget",
        "1\tok\tHaus\thouse\thouse\t9-13\t8-13",
        "1\tok\tSchwester\tsister|sibling\tsister\t28-37\t28-34",
        "4\tother\tHaus\thouse\tbuilding\t7-11\t5-13",
    ]
    assert done.returncode == 0
    assert "text.tsv:3: expected two columns" in done.stderr and "its terms are not checked" in done.stderr
    assert done.stderr.splitlines()[-1] == "terms found: 3; 2 ok, 0 inflected, 1 other, 0 missing"


def test_other_forms_json_and_the_exit_code(folder: Path) -> None:
    done = weft("glossary.tsv", "text.tsv", "--inflected", "--format", "jsonl", "--fail", "-o", "out.jsonl")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.splitlines()[-1] == "weft: 1 of 4 terms are not translated as agreed"
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert [row["verdict"] for row in rows] == ["ok", "ok", "inflected", "other"]
    assert rows[2] == {
        "line": 2,
        "verdict": "inflected",
        "term": "Haus",
        "agreed": ["house"],
        "found": "houses",
        "source": [13, 19],
        "target": [8, 14],
    }
    (folder / "text.tsv").write_text(TEXT.splitlines()[0] + "\n", "utf-8")
    assert weft("glossary.tsv", "text.tsv", "--fail").returncode == 0


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "bad.tsv").write_text("Haus\n", "utf-8")
    for arguments, problem in (
        (["bad.tsv", "text.tsv"], "bad.tsv:1: expected 'term TAB translation'"),
        (["-", "text.tsv"], "the glossary must be a file"),
        (["nowhere.tsv", "text.tsv"], "nowhere.tsv: No such file"),
        (["glossary.tsv", "text.tsv", "-o", "glossary.tsv"], "glossary.tsv: is read by this command, too"),
    ):
        refused = weft(*arguments)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1 and problem in refused.stderr
