"""Where commands write: files that appear when they are finished, for one command at a time, and can be resumed."""

from __future__ import annotations

import gzip
import lzma
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from weft.cli.output import is_finished, open_output, open_table
from weft.errors import WeftError
from weft.text import streams
from weft.text.reading import read_text


def write(path: Path | str, text: str, made_by: dict[str, Any] | None = None, resume: bool = False) -> int:
    """Write text; returns how many lines there were already."""
    with open_output(str(path), [], lambda: made_by or {"model": 1}, resume) as (file, done):
        file.write(text)
    return done


def interrupt(path: Path, text: str, made_by: dict[str, Any] | None = None) -> None:
    with pytest.raises(KeyboardInterrupt), open_output(str(path), [], lambda: made_by or {"model": 1}) as (file, _):
        file.write(text)
        raise KeyboardInterrupt


def test_a_file_has_its_name_when_it_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_text("before\n")
    with open_output(str(path), [], lambda: {}) as (file, done):
        file.write("ä\n")
        file.flush()
        assert done == 0 and path.read_text() == "before\n" and not is_finished(str(path))
        assert (tmp_path / "links.partial").read_bytes() == "ä\n".encode()
    assert path.read_bytes() == "ä\n".encode() and list(tmp_path.iterdir()) == [path] and is_finished(str(path))


def test_what_was_interrupted_is_continued_after_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "links"
    interrupt(path, "a\nb\nc")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "links.partial", tmp_path / "links.partial.json"]
    assert write(path, "c\n", resume=True) == 2
    assert path.read_text() == "a\nb\nc\n" and list(tmp_path.iterdir()) == [path]


def test_what_something_else_made_is_not_continued(tmp_path: Path) -> None:
    path, partial = tmp_path / "links", tmp_path / "links.partial"
    interrupt(path, "a\n", {"model": 1, "format": "words"})
    with pytest.raises(WeftError, match=r"links\.partial: cannot be resumed: its format was words, but is giza now"):
        write(path, "b\n", {"model": 1, "format": "giza"}, resume=True)
    (tmp_path / "links.partial.json").write_text("[]")
    with pytest.raises(WeftError, match=r"links\.partial: cannot be resumed: its model was None, but is 1 now"):
        write(path, "b\n", resume=True)
    (tmp_path / "links.partial.json").unlink()
    with pytest.raises(WeftError, match=r"links\.partial: cannot be resumed, as links\.partial\.json is missing"):
        write(path, "b\n", resume=True)
    assert partial.read_text() == "a\n"


def test_a_record_goes_with_its_file(tmp_path: Path) -> None:
    interrupt(tmp_path / "links", "a\n")
    record = tmp_path / "links.partial.json"
    assert record.exists()
    with open_output(str(tmp_path / "links"), []):  # a page, say: after a kill it must not be taken for links
        assert not record.exists()


def test_a_partial_file_is_overwritten_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interrupt(tmp_path / "links", "a\n")
    assert capsys.readouterr().err == ""
    assert write(tmp_path / "links", "b\n") == 0
    assert "links.partial: what an interrupted command has left is overwritten" in capsys.readouterr().err
    assert (tmp_path / "links").read_text() == "b\n"


def test_nothing_is_left_of_a_command_that_wrote_nothing(tmp_path: Path) -> None:
    interrupt(tmp_path / "links", "")
    assert not list(tmp_path.iterdir())


def test_one_command_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "links"
    with open_output(str(path), []) as (file, _):
        file.write("first\n")
        with pytest.raises(WeftError, match=r"links\.partial: another process is writing it"):
            write(path, "second\n")
    assert path.read_text() == "first\n"
    code = "import sys, time; from weft.cli.output import open_output\n"
    code += "with open_output(sys.argv[1], []) as (file, _): print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        with pytest.raises(WeftError, match=r"links\.partial: another process is writing it"):
            write(path, "second\n")
        process.send_signal(signal.SIGKILL)
    assert write(path, "third\n") == 0  # a killed command blocks nobody
    assert path.read_text() == "third\n"


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, problem in {
        f"{tmp_path}": "is a folder; give the name of a file",
        f"{tmp_path}/none/": "is a folder; give the name of a file",
        "": "is a folder; give the name of a file",
        "-": "to write to stdout, leave out the option",
        f"{tmp_path}/none/links": "its folder is missing",
        f"{tmp_path}/file/links": "its folder is missing",
        f"{tmp_path}/{'x' * 300}": "cannot be written: File name too long",
        "/dev/full": "cannot be written: No space left on device",
        "/dev/fd/4000": "cannot be written: Bad file descriptor",
    }.items():
        with pytest.raises(WeftError, match=f"{name or 'the output'}: {problem}"):
            write(name, "text\n")
    with pytest.raises(WeftError, match="its folder is missing"), open_table(f"{tmp_path}/none/links.parquet", []):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_an_error_of_something_else_is_not_said_of_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_output(str(tmp_path / "links"), []):
        open(tmp_path / "something else")
    with pytest.raises(WeftError, match="links: cannot be written"), open_output(str(tmp_path / "links"), []):
        raise OSError(28, "No space left on device")


def test_streams_are_not_resumed() -> None:
    with pytest.raises(WeftError, match="/dev/null: is no file that could be resumed"):
        write(Path("/dev/null"), "", resume=True)


# -- compressed by their ending ----------------------------------------------------------------------------------------


def _all_frames(content: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True).read()


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress, ".zst": _all_frames}
LINES = [f"{number}-{number * 7 % 10} ä\n" for number in range(1_000)]


@pytest.mark.parametrize("ending", list(DECOMPRESS))
@pytest.mark.parametrize("frame", [1, 1_000, 1 << 18])
def test_a_file_is_compressed_by_its_ending(
    ending: str, frame: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_FRAME", frame)
    path = tmp_path / f"links{ending}"
    with open_output(str(path), []) as (file, _):
        file.writelines(LINES)
        file.write("no end")
    assert DECOMPRESS[ending](path.read_bytes()).decode() == "".join([*LINES, "no end"])
    assert [f"{line}\n" for line in read_text(str(path))] == [*LINES, "no end\n"]


@pytest.mark.parametrize("ending", list(DECOMPRESS))
def test_an_empty_file_can_be_decompressed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"links{ending}"
    write(path, "")
    assert path.stat().st_size and DECOMPRESS[ending](path.read_bytes()) == b""
    path.unlink()
    interrupt(path, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", list(DECOMPRESS))
def test_what_is_flushed_can_be_read(ending: str, tmp_path: Path) -> None:
    with open_output(str(tmp_path / f"links{ending}"), []) as (file, _):
        for number in (1, 2):
            file.write(LINES[number])
            file.flush()
            found = DECOMPRESS[ending]((tmp_path / f"links{ending}.partial").read_bytes())
            assert found.decode() == "".join(LINES[1 : number + 1])


@pytest.mark.parametrize("ending", list(DECOMPRESS))
def test_a_kill_at_any_byte_loses_no_line_and_makes_none_twice(ending: str, tmp_path: Path) -> None:
    path, partial = tmp_path / f"links{ending}", tmp_path / f"links{ending}.partial"
    with pytest.raises(KeyboardInterrupt), open_output(str(path), [], lambda: {"model": 1}) as (file, _):
        for first in range(0, 1_000, 250):
            file.writelines(LINES[first : first + 250])
            file.flush()
        raise KeyboardInterrupt
    whole, record = partial.read_bytes(), Path(f"{partial}.json").read_bytes()
    found = set()
    for kept in [*range(1, len(whole), 37), len(whole)]:
        partial.write_bytes(whole[:kept])
        Path(f"{partial}.json").write_bytes(record)
        with open_output(str(path), [], lambda: {"model": 1}, resume=True) as (file, done):
            file.writelines(LINES[done:])
        assert DECOMPRESS[ending](path.read_bytes()).decode() == "".join(LINES)
        found.add(done)
    assert found == {0, 250, 500, 750, 1_000}


@pytest.mark.parametrize("ending", list(DECOMPRESS))
def test_damaged_or_unfinished_frames_are_made_again(ending: str, tmp_path: Path) -> None:
    path, partial = tmp_path / f"links{ending}", tmp_path / f"links{ending}.partial"
    for left in ("a\n", "a\nb"):
        interrupt(path, left)
        if left == "a\n":
            partial.write_bytes(partial.read_bytes() + b"no frame at all")
        assert write(path, "b\nc\n", resume=True) == (left == "a\n")
        expected = b"a\nb\nc\n" if left == "a\n" else b"b\nc\n"
        assert DECOMPRESS[ending](path.read_bytes()) == expected


def test_a_pipe_is_compressed_by_its_ending(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gz")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe.gz").read_bytes()))
    reader.start()
    with open_output(str(tmp_path / "pipe.gz"), []) as (file, _):
        file.writelines(LINES)
    reader.join()
    assert gzip.decompress(found[0]).decode() == "".join(LINES)


@pytest.mark.parametrize("ending", list(DECOMPRESS))
def test_a_full_disk_is_one_line(ending: str, tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from weft.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "main()"
    )
    links = tmp_path / "links"
    links.write_text("".join(f"{number * 7919 % 101}-{number * 104729 % 103}\n" for number in range(1_000)))
    command = [sys.executable, "-c", code, "symmetrize", links, links, "-o", tmp_path / f"out{ending}"]
    result = subprocess.run([str(one) for one in command], capture_output=True, text=True)
    assert (
        result.returncode == 1 and result.stderr == f"weft: {tmp_path}/out{ending}: cannot be written: File too large\n"
    )
    assert list(tmp_path.iterdir()) == [links]
