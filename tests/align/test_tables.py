"""Alignments as rows: ``weft align -o links.parquet``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from weft.align import tables
from weft.align.onnx_aligner import load
from weft.cli.align import Options, align
from weft.errors import WeftError

TEXT = Path(__file__).parents[2] / "examples" / "de-en.tsv"


def rows_of(output: Path, text: Path = TEXT, **options: Any) -> list[dict]:
    align(Options(str(text), output=str(output), **options))
    return parquet.read_table(output).to_pylist()


def test_a_row_for_each_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_GROUP", 2)
    lines = [*TEXT.read_text("utf-8").splitlines(), "only one side", "\tx"]
    text = tmp_path / "text.tsv"
    text.write_text("\n".join(lines), "utf-8")
    rows = rows_of(tmp_path / "links.parquet", text)
    assert [row["line"] for row in rows] == list(range(1, len(lines) + 1))
    for row, line in zip(rows[:-2], lines, strict=False):
        expected = load().align_one(*line.split("\t"))
        assert f"{row['source']}\t{row['target']}" == line and row["links"] == str(expected)
        assert row["source_words"] == expected.source.words and row["target_words"] == expected.target.words
        assert row["probabilities"] == pytest.approx(list(expected.probabilities.values()))
        assert row["score"] == pytest.approx(expected.score)
    assert [row["links"] for row in rows[-2:]] == ["", ""] and [row["target"] for row in rows[-2:]] == ["", "x"]
    again = rows_of(tmp_path / "again.parquet", tmp_path / "links.parquet")  # its output is its input, too
    assert again == rows
    parts = [rows_of(tmp_path / f"{part}.parquet", text, shard=f"{part}/3") for part in (1, 2, 3)]
    assert [row for part in parts for row in part] == rows
    assert rows_of(tmp_path / "few.parquet", text, if_empty="drop") == rows[:-2]


def test_tokens_and_text_without_pairs(tmp_path: Path) -> None:
    (row, *_) = rows_of(tmp_path / "links.parquet", tokens=("icu",))
    assert "▁" in row["source_words"]
    (tmp_path / "empty.tsv").touch()
    assert rows_of(tmp_path / "empty.parquet", tmp_path / "empty.tsv") == []


def test_what_a_table_cannot_do(tmp_path: Path) -> None:
    name = str(tmp_path / "links.parquet")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"output": name, "resume": True}, "--resume: a Parquet file is complete or not there"),
        ({"output": name, "line_buffered": True}, "--line-buffered: a Parquet file is complete or not there"),
        ({"output": name, "format": "words"}, "Parquet has columns of its own; leave out --format words"),
        ({"tokens": (f"spaces=links,{name},x",)}, "has tokens of one side"),
    ]
    for options, problem in refused:
        with pytest.raises(WeftError, match=problem):
            align(Options(str(TEXT), **options))
    rows_of(Path(name))
    with pytest.raises(WeftError, match="is read by this command, too"):
        rows_of(Path(name), Path(name))


def test_a_table_is_complete_or_not_there(tmp_path: Path) -> None:
    code = (
        "import resource, signal; from weft.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "align", str(TEXT), "-o", str(tmp_path / "links.parquet")]
    result = subprocess.run(command, capture_output=True, text=True)  # a disk that is full
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith(f"weft: {tmp_path}/links.parquet: cannot be written: ")
    bad = tmp_path / "bad.tsv"
    bad.write_text(TEXT.read_text("utf-8") + "only one side\n", "utf-8")
    with pytest.raises(WeftError, match=r"bad\.tsv:7"):
        rows_of(tmp_path / "links.parquet", bad, strict=True)
    assert list(tmp_path.iterdir()) == [bad]
