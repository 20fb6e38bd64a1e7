"""Where a command writes its results: stdout, a pipe or device, or a file that gets its name when it is finished.

Until then the file is called FILE.partial, and FILE.partial.json says what makes it. An interrupted command can be
resumed: it goes on after the last whole line if it would make the same file. What is called .gz, .xz or .zst is
compressed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TextIO

from weft.align.tables import TableWriter
from weft.errors import WeftError
from weft.progress import say
from weft.storage import atomic_file, locked, read_json, write_json
from weft.text.streams import Compressed, Compression, compression_of

_DESCRIPTOR = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/(\d+))")


@contextlib.contextmanager
def open_output(
    name: str | None, inputs: Sequence[str], made_by: Callable[[], dict[str, Any]] | None = None, resume: bool = False
) -> Iterator[tuple[TextIO, int]]:
    """Open where to write, None for stdout. Yields it and the number of lines that it has already.

    ``inputs`` are the files that are read, which must not be replaced. ``made_by`` returns all that the content depends
    on, as plain data: a file of which something else was recorded is not resumed.
    """
    compression = compression_of(name) if name is not None else None
    try:
        if name is None:
            yield sys.stdout, 0
        elif _is_stream(name):
            if resume:
                raise WeftError(f"{name}: is no file that could be resumed")
            with _text(_open_stream(name), compression) as stream:
                yield stream, 0
        else:
            with _open_file(_path(name, inputs), made_by, resume, compression) as opened:
                yield opened
    except BrokenPipeError:
        raise
    except OSError as error:
        where = str(error.filename or name).removesuffix(".partial")
        if name is None or where not in (name, os.path.realpath(name)):
            raise
        raise WeftError(f"{name}: cannot be written: {error.strerror or error}") from None


def is_table(name: str | None) -> bool:
    """Return whether a file of this name has rows instead of text."""
    return name is not None and name.endswith(".parquet")


@contextlib.contextmanager
def open_table(name: str, inputs: Sequence[str]) -> Iterator[TableWriter]:
    """Open a Parquet file to write, which is complete or not there at all; ``inputs`` are the files that are read."""
    with atomic_file(_path(name, inputs)) as partial, TableWriter(partial) as writer:
        yield writer


def is_finished(name: str) -> bool:
    """Return whether an earlier command has finished a file."""
    path = Path(os.path.realpath(name))
    return path.is_file() and not _partial(path).exists()


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial.json")


def _is_stream(name: str) -> bool:
    other = os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)
    return other or _DESCRIPTOR.fullmatch(name) is not None


def _text(file: IO[bytes], compression: Compression | None) -> TextIO:
    """Return where to write the text of a file."""
    buffer: Any = file if compression is None else Compressed(file, compression)
    return io.TextIOWrapper(buffer, encoding="utf-8", newline="\n")


def _open_stream(name: str) -> IO[bytes]:
    """Open a pipe or device, which is never replaced."""
    match = _DESCRIPTOR.fullmatch(name)
    if match is None:
        return open(name, "wb")
    number = 1 if match[1] else 2 if match[2] else int(match[3])
    # A copy of the descriptor: a file that is opened anew would be overwritten from its start.
    return open(os.dup(number), "wb")


def _path(name: str, inputs: Sequence[str]) -> Path:
    """Return the file to write: of a symbolic link, which stays, its target."""
    if not name or name.endswith(("/", os.sep)) or os.path.isdir(name):
        raise WeftError(f"{name or 'the output'}: is a folder; give the name of a file")
    if name == "-":
        raise WeftError("-: to write to stdout, leave out the option; a file of this name is ./-")
    path = Path(os.path.realpath(name))
    if not path.parent.is_dir():
        raise WeftError(f"{name}: its folder is missing; make it, or choose another name")
    for read in inputs:
        for written in (path, _partial(path), _record(path)):
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(0) if read == "-" else os.stat(read), written.stat()):
                    raise WeftError(f"{written}: is read by this command, too; choose another output")
    return path


@contextlib.contextmanager
def _open_file(
    path: Path, made_by: Callable[[], dict[str, Any]] | None, resume: bool, compression: Compression | None
) -> Iterator[tuple[TextIO, int]]:
    partial, record = _partial(path), _record(path)

    def clean_up() -> None:
        if partial.exists() and (made_by is None or not partial.stat().st_size):
            partial.unlink()  # nothing to go on with
        if not partial.exists():
            record.unlink(missing_ok=True)

    with locked(partial, clean_up), partial.open("a+b") as file:
        done = 0
        if resume and made_by is not None and file.tell():
            _compare(record, made_by())
            done, end = compression.whole_lines(file) if compression else _whole_lines(file)
            file.truncate(end)
        else:
            if file.tell():
                say(f"weft: {partial}: what an interrupted command has left is overwritten")
            file.truncate(0)
            record.unlink(missing_ok=True)  # of what was there before
            if made_by is not None:
                write_json(record, made_by())
        text = _text(file, compression)
        try:
            yield text, done
            text.flush()
            if compression and not file.tell():
                file.write(compression.compress(b""))  # a file of no bytes is none to those who decompress it
                file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # which renames no open file
                text.close()
            partial.replace(path)
        finally:
            with contextlib.suppress(OSError, ValueError):  # the disk is full, as was said; or all is closed
                text.flush()


def _compare(record: Path, made_by: dict[str, Any]) -> None:
    """Raise WeftError unless the partial file was made by the same."""
    partial, remedy = record.with_suffix(""), "without --resume it is made anew"
    try:
        before = read_json(record)
    except FileNotFoundError:
        raise WeftError(f"{partial}: cannot be resumed, as {record.name} is missing; {remedy}") from None
    for name, value in made_by.items():
        if not isinstance(before, dict) or before.get(name) != value:
            old = before.get(name) if isinstance(before, dict) else None
            raise WeftError(f"{partial}: cannot be resumed: its {name} was {old}, but is {value} now; {remedy}")


def _whole_lines(file: IO[bytes]) -> tuple[int, int]:
    """Return how many whole lines a file has, and where they end: a kill may have left a part of a line."""
    lines = end = 0
    file.seek(0)
    for line in file:
        if line.endswith(b"\n"):
            lines, end = lines + 1, end + len(line)
    return lines, end
