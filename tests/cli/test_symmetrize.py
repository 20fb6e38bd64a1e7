"""``weft symmetrize`` as users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cli.symmetrize import symmetrize
from weft.errors import WeftError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Links of two directions, and files that do not go with them."""
    monkeypatch.chdir(tmp_path)
    files = {
        "good": "0-0 1-1 2-2\n0-0\n",
        "bad": "0-0 2-1\n\n",
        "turned": "0-0 1-2\n\n",
        "short": "0-0\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_symmetrize(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    symmetrize("good", "bad", merge="intersection")
    assert capsys.readouterr().out == "0-0\n\n"
    symmetrize("bad", "turned", merge="union", reverse=True)
    assert capsys.readouterr().out == "0-0 2-1\n\n"


def test_files_of_different_length_are_an_error_at_the_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for first, second, message in (("good", "short", "good has 2 .* short has 1;"), ("short", "good", "short has 1")):
        with pytest.raises(WeftError, match=message):
            symmetrize(first, second, merge="union")
        assert capsys.readouterr().out.splitlines()[0].startswith("0-0")  # what was read before is out


def test_output_is_a_whole_file_or_none(folder: Path) -> None:
    symmetrize("good", "bad", merge="intersection", output="out")
    assert (folder / "out").read_text() == "0-0\n\n"
    with pytest.raises(WeftError, match="good has 2 lines"):
        symmetrize("good", "short", output="out")
    assert (folder / "out").read_text() == "0-0\n\n"
    assert not list(folder.glob("*.partial*"))
    with pytest.raises(WeftError, match="is read by this command"):
        symmetrize("good", "bad", output="good")


def test_stdin_is_read_once(folder: Path) -> None:
    with pytest.raises(WeftError, match="only once"):
        symmetrize("-", "-", merge="union")


@pytest.mark.skipif(os.name == "nt", reason="named pipes")
def test_lines_come_out_as_they_come_in(folder: Path) -> None:
    """Neither input has ended when the first line is answered, so neither file is held in memory."""
    os.mkfifo(folder / "pipe")
    command = [sys.executable, "-m", "weft", "symmetrize", "-", "pipe"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"0-0\n" * 5_000)
        process.stdin.flush()
        with (folder / "pipe").open("wb") as backward:
            backward.write(b"0-0\n" * 5_000)
            backward.flush()
            assert process.stdout.readline() == b"0-0\n"
            process.stdin.close()
        assert process.stdout.read() == b"0-0\n" * 4_999
