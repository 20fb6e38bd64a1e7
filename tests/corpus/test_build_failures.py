"""Folders that exist are not touched, and failures leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from prepared_text import contents, training_pairs, write, write_pairs

from weft.config import CorpusConfig, PrepareConfig, TextConfig
from weft.config_io import from_dict
from weft.corpus import build as prepare_module
from weft.corpus.build import prepare
from weft.corpus.prepared import open_prepared, report
from weft.errors import BadLine, WeftError
from weft.text import reading as corpus_module

WEFT = [sys.executable, "-m", "weft"]
# Runs weft with files limited to so many bytes: what a full disk does, on a disk that is not full.
ON_A_FULL_DISK = """
import os, resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.executable, [sys.executable, "-m", "weft", *sys.argv[2:]])
"""


# -- folders that exist ------------------------------------------------------------------------------------------------


def test_a_folder_that_exists_is_not_touched(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "precious").write_text("data", encoding="utf-8")
    with pytest.raises(WeftError, match=r"corpus: already exists; .* force its replacement"):
        prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    assert os.listdir(tmp_path) == ["corpus"]
    assert (folder / "precious").read_text(encoding="utf-8") == "data"


def test_a_folder_that_exists_is_replaced_where_that_is_forced(tmp_path: Path) -> None:
    # The second text has words of the first, so it must not be cut by what was learned from the first.
    first = write_pairs(tmp_path / "first.tsv", [("aa bb", "cc dd")] * 10)
    second = write_pairs(tmp_path / "second.tsv", [("dd cc", "bb aa"), ("dd dd", "bb cc")] * 10)
    config, folder = PrepareConfig(merges=50), tmp_path / "corpus"
    prepare([first], config, folder)
    assert training_pairs(prepare([second], config, folder, force=True))[:2] == [("dd cc", "bb aa"), ("dd dd", "bb cc")]
    assert sorted(os.listdir(tmp_path)) == ["corpus", "first.tsv", "second.tsv"]


def test_a_forced_run_that_fails_leaves_the_folder_as_it_was(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    before = contents(folder)
    with pytest.raises(BadLine):
        prepare([write(tmp_path / "text.tsv", b"bad\n")], PrepareConfig(merges=10), folder, force=True)
    assert contents(folder) == before
    assert sorted(os.listdir(tmp_path)) == ["corpus", "text.tsv"]


# -- failures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nbad\n", r"text\.tsv:2: expected two columns"),
        (b"", r"no sentence pair is left to train on \(0 read; no lines\)"),
        (b"\n\n", r"no sentence pair is left to train on \(2 read; 2 empty\)"),
        (b"w w w w w\tw\n", r"no sentence pair is left to train on \(1 read; 1 too long\)"),
    ],
    ids=["bad line", "empty file", "empty pairs", "long pairs"],
)
def test_a_failure_leaves_nothing(content: bytes, message: str, tmp_path: Path) -> None:
    corpus = write(tmp_path / "text.tsv", content)
    with pytest.raises(WeftError, match=message):
        prepare([corpus], PrepareConfig(merges=5, longest=4), tmp_path / "corpus")
    assert os.listdir(tmp_path) == ["text.tsv"]


def test_a_failure_in_a_worker_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", 4)
    monkeypatch.setattr(prepare_module, "available_cores", lambda: 2)
    corpus = write(tmp_path / "text.tsv", b"a\tb\n" * 9 + b"bad\n")
    with pytest.raises(BadLine, match=r"text\.tsv:10: "):
        prepare([corpus], PrepareConfig(merges=5), tmp_path / "corpus")
    assert os.listdir(tmp_path) == ["text.tsv"]


@pytest.mark.parametrize("name", ["merges", "longest", "ratio", "hold_out", "seed"])
def test_negative_numbers_are_an_error(name: str) -> None:
    with pytest.raises(WeftError, match=f"test: {name} must be at least 0, but is -1"):
        from_dict(PrepareConfig, {name: -1}, "test")


def test_force_does_not_delete_what_is_no_prepared_corpus(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(WeftError, match="not a prepared corpus"):
        prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=5), tmp_path, force=True)
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(3_000, id="first pass"),
        pytest.param(14_000, id="offsets"),
        pytest.param(24_007, id="last byte of the offsets"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(limit: int, tmp_path: Path) -> None:
    # 12,000 bytes of text and of ids, 24,008 bytes of offsets for each side
    (tmp_path / "text.tsv").write_bytes(b"a\tb\n" * 3_000)
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(limit), "prepare", "text.tsv", "merges=9", "-o", "corpus"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith("weft: ")
    assert result.stderr.count("\n") == 1
    assert "File too large" in result.stderr
    assert os.listdir(tmp_path) == ["text.tsv"]


def test_a_killed_run_leaves_nothing_that_opens_and_does_not_disturb_the_next(text_file: Path, tmp_path: Path) -> None:
    folder, partial = tmp_path / "corpus", tmp_path / "corpus.partial"
    process = subprocess.Popen([*WEFT, "prepare", "-", "merges=9", "-o", str(folder)], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process:
        process.stdin.write(text_file.read_bytes())
        process.stdin.flush()  # and no end: it waits for more
        while not list(partial.glob("*")):
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    for left in (folder, partial):
        with pytest.raises(WeftError, match="not a prepared corpus"):
            open_prepared(left)
    assert partial.exists()  # it was killed in the middle
    assert len(prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)) == 2_000
    assert os.listdir(tmp_path) == ["corpus"]


def test_the_command_line_reports_and_makes_the_same_folder(text_file: Path, tmp_path: Path) -> None:
    settings = ["merges=20", "hold_out=5", "seed=3", "text.lowercase=false"]
    with text_file.open("rb") as stdin:
        result = subprocess.run(
            [*WEFT, "prepare", "-", *settings, "-o", "corpus"],
            stdin=stdin, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    config = PrepareConfig(text=TextConfig(lowercase=False), merges=20, hold_out=5, seed=3)
    here = prepare([CorpusConfig(files=(str(text_file),))], config, tmp_path / "here")
    there = open_prepared(tmp_path / "corpus")
    assert there.config == config
    assert there.checksum == here.checksum
    assert result.stderr.strip() == report(here).replace(str(here.folder), "corpus")
