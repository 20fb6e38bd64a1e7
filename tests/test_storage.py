"""Writing is all or nothing: after errors, kills and on full disks; reading names what is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weft import storage
from weft.cli.output import open_output
from weft.errors import WeftError
from weft.storage import (
    atomic_file,
    atomic_folder,
    read_description,
    read_json,
    used_alone,
    write_json,
    write_text,
)

posix = pytest.mark.skipif(os.name == "nt", reason="limits, pipes, locks and links of POSIX")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, text: str) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "one").write_text(text)
    (folder / "two").write_text(text)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_takes_its_name_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with atomic_file(path) as partial:
        partial.write_text("half")
        assert not path.exists() and partial.parent == path.parent
        partial.write_text("whole")
    assert contents(tmp_path) == {"new/file": "whole"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, WeftError, ZeroDivisionError])
def test_an_error_leaves_the_file_as_it_was(error: type[BaseException], tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(error), atomic_file(tmp_path / "file") as partial:
        partial.write_text("half")
        raise error
    assert contents(tmp_path) == {"file": "old"}


@posix
@pytest.mark.parametrize("writer", [atomic_file, atomic_folder, lambda path: open_output(str(path), [])])
def test_an_interrupt_while_writing_begins_leaves_nothing(
    writer: Callable[[Path], contextlib.AbstractContextManager[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def interrupted(*arguments: Any) -> int:
        monkeypatch.undo()
        descriptor = opened(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return descriptor

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), writer(tmp_path / "result"):
        pytest.fail("it has begun")
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_system_names_the_file_and_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(WeftError, match=r"cannot be written: No space left.*before is untouched"), atomic_file(path):
        raise OSError(28, "No space left on device")
    with pytest.raises(WeftError, match=r"cannot be written: other/input: Permission denied"), atomic_file(path):
        raise PermissionError(13, "Permission denied", "other/input")
    assert contents(tmp_path) == {}


@posix
@pytest.mark.parametrize("limit", [1, 79_999])
def test_a_full_disk_is_an_error_and_leaves_what_was_before(limit: int, tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    code = """
import resource, sys
from pathlib import Path
from weft.storage import atomic_file
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with atomic_file(Path(sys.argv[1])) as partial:
    partial.write_bytes(bytes(80_000))
"""
    result = subprocess.run([sys.executable, "-c", code, tmp_path / "file", str(limit)], capture_output=True, text=True)
    assert "file: cannot be written: File too large" in result.stderr
    assert contents(tmp_path) == {"file": "old"}


def test_text_and_json_are_utf8_with_line_feeds(tmp_path: Path) -> None:
    write_text(tmp_path / "text", "ö\n")
    assert (tmp_path / "text").read_bytes() == "ö\n".encode()
    write_json(tmp_path / "json", {"ö": [1]})
    assert (tmp_path / "json").read_bytes() == '{\n  "ö": [\n    1\n  ]\n}\n'.encode()
    assert read_json(tmp_path / "json") == {"ö": [1]}


@posix
def test_json_may_have_names_that_are_no_utf8(tmp_path: Path) -> None:
    value = {"file": os.fsdecode(b"caf\xe9.txt"), "other": "é"}
    write_json(tmp_path / "file", value)
    assert read_json(tmp_path / "file") == value
    assert "é" in (tmp_path / "file").read_text(encoding="utf-8")


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "target", "old")
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"


@posix
def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_text(tmp_path / "pipe", "through\n")
        assert reader.communicate()[0] == "through\n"
    assert (tmp_path / "pipe").is_fifo()


@posix
def test_two_processes_cannot_write_the_same(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom weft import storage\n"
        "with getattr(storage, sys.argv[1])(Path(sys.argv[2])): pass"
    )
    for name, function in (("file", atomic_file), ("folder", atomic_folder)):
        with function(tmp_path / name) as partial:
            other = [sys.executable, "-c", code, function.__name__, str(tmp_path / name)]
            assert "another process is writing it" in subprocess.run(other, capture_output=True, text=True).stderr
            assert partial.exists()
        assert (tmp_path / name).exists()
        assert subprocess.run(other).returncode == 0


# -- folders -----------------------------------------------------------------------------------------------------------


@posix
def test_a_folder_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "file"
    refused = pytest.raises(
        WeftError, match=r"run: another process is training in this folder; wait until it has ended"
    )
    with used_alone(run, "training"), refused, used_alone(run, "training"):
        pass
    (run / "in-use").touch()  # as a kill leaves it
    with used_alone(run, "training"):
        pass
    assert not list(run.iterdir())
    file.touch()
    with pytest.raises(WeftError, match=r"file: cannot be written: .*File exists"), used_alone(file, "training"):
        pass


def test_a_folder_replaces_the_one_before(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with atomic_folder(tmp_path / "folder") as partial:
            assert list(partial.iterdir()) == []
            fill(partial, text)
    assert contents(tmp_path) == {"folder/deep/one": "second", "folder/two": "second"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_leaves_the_folder_as_it_was(error: type[BaseException], tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "folder") as partial:
        fill(partial, "old")
    expected = WeftError if error is OSError else error
    with pytest.raises(expected), atomic_folder(tmp_path / "folder") as partial:
        fill(partial, "new")
        raise error
    assert contents(tmp_path) == {"folder/deep/one": "old", "folder/two": "old"}


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with pytest.raises(WeftError, match="is no folder"), atomic_folder(tmp_path / "file"):
        pass
    assert contents(tmp_path) == {"file": "old"}


# Kills itself at the given call of a function of the module os, counted from the end of the body.
KILLED = """
import os, signal, sys
from pathlib import Path
from weft.storage import atomic_folder

def killing(function):
    def killed_or(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*arguments, **options)
    return killed_or

left = int(sys.argv[2])
with atomic_folder(Path(sys.argv[1])) as partial:
    (partial / "deep").mkdir()
    for name in ("deep/one", "two"):
        (partial / name).write_text("new")
    for name in ("rename", "fsync", "unlink", "rmdir"):
        setattr(os, name, killing(getattr(os, name)))
"""


@posix
@pytest.mark.parametrize("step", range(12))
def test_a_kill_at_any_step_leaves_a_whole_folder_to_the_next_run(step: int, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with atomic_folder(folder) as partial:
        fill(partial, "old")
    whole = {"deep/one": "old", "two": "old"}, {"deep/one": "new", "two": "new"}
    result = subprocess.run([sys.executable, "-c", KILLED, folder, str(step)])
    assert result.returncode == (-9 if step < 11 else 0)
    if folder.exists():
        assert contents(folder) in whole
    with pytest.raises(ZeroDivisionError), atomic_folder(folder):  # the next run fails early
        raise ZeroDivisionError
    assert contents(folder) in whole
    assert os.listdir(tmp_path) == ["folder"]


def test_everything_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[tuple[str, bool]] = []
    flush = storage._flush
    place = tmp_path / "folder"

    def noting(path: Path) -> None:
        flush(path)
        flushed.append((path.name, place.exists()))

    monkeypatch.setattr(storage, "_flush", noting)
    with atomic_folder(place) as partial:
        fill(partial, "text")
    before = {"deep", "one", "two", "folder.partial"}
    assert {name for name, exists in flushed if not exists} == before
    assert [name for name, exists in flushed if exists] == [tmp_path.name]


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b""], ids=["half", "no UTF-8", "deep", "empty"])
def test_damaged_json_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(WeftError, match=r"x\.json: damaged"):
        read_json(tmp_path / "x.json")


def test_missing_json_is_another_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "x.json")


@posix
def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(WeftError, match="not a regular file"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "not a thing .no x.json.; make it"),
        ("[]", "not of the format 'thing 1'; make it"),
        ('{"format": "thing 2"}', "not of the format 'thing 1'; make it"),
        ('{"format": "thing 1"}', "damaged, it has no 'size'; make it"),
        ("{", "damaged: not JSON; make it"),
    ],
)
def test_descriptions_that_will_not_do(content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(WeftError, match=message):
        read_description(tmp_path / "x.json", "thing 1", "thing", "; make it", needs=("size",))


def test_a_description_is_returned(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"format": "thing 1", "size": 3}))
    assert read_description(tmp_path / "x.json", "thing 1", "thing", needs=("size",))["size"] == 3
