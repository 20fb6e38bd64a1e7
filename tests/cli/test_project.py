"""``weft project`` with the shipped aligner."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

IOB2 = "The O\nold O\nhouse B-THING\nbelongs O\nto O\nAnna B-PER\n. O\n\nWe O\nare O\ntired O\n. O\n\n"
GERMAN = "Das alte Haus gehört Anna.\nWir sind müde.\n"
TOKENS = "Das alte Haus gehört Anna .\nWir sind müde .\n"
SPANS = '{"start": 4, "end": 13, "label": "THING"}, {"start": 3, "end": 4, "label": "GAP"}'
JSONL = f'{{"text": "The old house.", "spans": [{SPANS}]}}\n'
CONLLU = (
    "# sent_id = 1\n1\tAnna\t_\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(1-person)\n"
    "2\tsleeps\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n3\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"a.iob2": IOB2, "a.de": GERMAN, "tokens.de": TOKENS, "a.conllu": CONLLU, "a.jsonl": JSONL}
    for name, text in {**files, "anna.de": "Anna schläft.\n", "house.de": "Das alte Haus.\n"}.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def weft(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    command = [sys.executable, "-m", "weft", "project", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, input=stdin)
    return result.returncode, result.stdout, result.stderr


EXPECTED = "Das O\nalte O\nHaus B-THING\ngehört O\nAnna B-PER\n. O\n\nWir O\nsind O\nmüde O\n. O\n\n"


def test_tagged_tokens(folder: Path) -> None:
    assert weft("a.iob2", "a.de", "--raw") == (0, EXPECTED, "2 of 2 labels were projected\n")
    assert weft("a.iob2", "tokens.de")[1] == EXPECTED
    assert weft("-", "tokens.de", "--fast", "--cores", "1", stdin=IOB2)[1] == EXPECTED


def test_conllu(folder: Path) -> None:
    code, out, messages = weft("a.conllu", "anna.de", "--raw")
    assert code == 0 and messages.startswith("1 of 1 labels were projected; 3 of 3 words")
    assert out.split("\n") == [
        "# sent_id = 1",
        "# text = Anna schläft.",
        "1\tAnna\t_\tPROPN\t_\t_\t_\tnsubj\t_\tEntity=(1-person)",
        "2\tschläft\t_\tVERB\t_\t_\t_\troot\t_\tSpaceAfter=No",
        "3\t.\t_\tPUNCT\t_\t_\t_\tpunct\t_\t_",
        *["", ""],
    ]
    assert "PROPN" not in weft("a.conllu", "anna.de", "--columns", "Entity")[1]


def test_jsonl_and_what_is_missing(folder: Path) -> None:
    code, out, messages = weft("a.jsonl", "house.de", "--report", "missing.jsonl", "-o", "out.jsonl")
    written = json.loads((folder / "out.jsonl").read_text("utf-8"))
    assert (code, out) == (0, "") and written["spans"] == [{"start": 4, "end": 13, "label": "THING"}]
    assert written["not_projected"] == {"spans": [{"start": 3, "end": 4, "label": "GAP"}]}
    assert messages == "weft: a.jsonl:1: not projected: GAP (spans), ' '\n1 of 2 labels were projected\n"
    (missing,) = (folder / "missing.jsonl").read_text("utf-8").splitlines()
    assert json.loads(missing) == {"line": 1, "start": 3, "end": 4, "label": "GAP", "layer": "spans", "text": " "}


def test_jsonl_with_both_sides(folder: Path) -> None:
    source = json.loads(JSONL)
    (folder / "both").write_text(json.dumps({"source": source, "target": "Das alte Haus."}), "utf-8")
    code, out, _ = weft("both", "--format", "jsonl")
    assert code == 0 and json.loads(out)["target"]["spans"] == [{"start": 4, "end": 13, "label": "THING"}]


def test_few_of_many_missing_labels_are_named(folder: Path) -> None:
    (folder / "many.jsonl").write_text(JSONL * 12, "utf-8")
    (folder / "many.de").write_text("Das alte Haus.\n" * 12, "utf-8")
    code, _, messages = weft("many.jsonl", "many.de")
    assert code == 0 and messages.count("not projected: ") == 10
    assert messages.endswith("12 of 24 labels were projected; --report FILE lists the others\n")


def test_several_processes_give_the_same(folder: Path) -> None:
    (folder / "many.iob2").write_text(IOB2 * 1_100, "utf-8")
    (folder / "many.de").write_text(TOKENS * 1_100, "utf-8")
    code, out, messages = weft("many.iob2", "many.de", "--fast", "--cores", "2")
    assert (code, out) == (0, EXPECTED * 1_100) and messages.endswith("2,200 of 2,200 labels were projected\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.iob2"], "weft: give a second file with the translations"),
        (["a.iob2", "house.de"], "weft: a.iob2 has 2 sentences but house.de has 1"),
        (["a.iob2", "missing.de"], "weft: missing.de: No such file"),
        (["a.iob2", "a.de", "--strength", "2"], "weft: --strength is from 0 to 1"),
        (["a.iob2", "a.de", "--cores", "-1"], "weft: --cores is a number"),
        (["a.iob2", "a.de", "-o", "x", "--report", "x"], "weft: --output and --report are the same"),
        (["a.iob2", "a.de", "-o", "a.de"], "a.de: is read by this command, too"),
        (["a.conllu", "anna.de", "--columns", "LEMMA"], "weft: --columns: LEMMA cannot be projected"),
        (["anna.de", "anna.de", "-o", "x"], "weft: anna.de:1: expected a token and, in the last column, a tag"),
        (["a.jsonl", "-o", "x"], 'weft: a.jsonl:1: expected an object with "source" and "target"'),
        (["a.iob2", "a.de", "--model", "nonsense"], "nonsense: neither a shipped model"),
    ],
)
def test_one_line_for_what_is_wrong(folder: Path, arguments: list[str], message: str) -> None:
    code, out, messages = weft(*arguments)
    assert (code, out) == (1, "") and message in messages and messages.count("\n") == 1
    assert not (folder / "x").exists() and not (folder / "x.partial").exists()
