"""The only way files and folders are written: beside their place, flushed to disk, then renamed.

A reader sees the old content or the new, never half of it, and so does a run that follows a kill. Also reads the JSON
files that describe folders (prepared corpora, links, models) and name their format.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.interrupts import interrupts_later

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_MOST_JSON = 50_000_000  # bytes; a description is never so large


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it takes the name ``path`` at the end, or is removed on any error.

    A symbolic link stays, and its target is replaced. A device or a pipe is written as it is.
    Raises WeftError if the disk does not take the file or if another process is writing it.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    place = path.resolve()
    partial = _beside(place, "partial")
    with _errors_of_writing(path, partial):
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(partial, lambda: partial.unlink(missing_ok=True)):
            os.truncate(partial, 0)  # what a killed run has left
            yield partial
            _flush(partial)
            partial.replace(place)
            _flush(place.parent)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``folder`` to fill; it takes the place of ``folder`` at the end, or is removed.

    No system call replaces a folder, so the old one is set aside as ``folder.old`` in between. A kill at that moment
    leaves both complete, and the next call restores the old one. Raises WeftError as `atomic_file` does.
    """
    place = folder.resolve()
    partial, old = _beside(place, "partial"), _beside(place, "old")

    def clean_up() -> None:
        _restore(old, place)
        shutil.rmtree(partial, ignore_errors=True)

    with _errors_of_writing(folder, partial):
        if place.exists() and not place.is_dir():
            raise WeftError(f"{folder}: exists and is no folder")
        with locked(partial, clean_up, is_folder=True):
            for left in partial.iterdir():  # what a killed run has left
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            _restore(old, place)
            shutil.rmtree(old, ignore_errors=True)
            yield partial
            for path in [*partial.rglob("*"), partial]:
                _flush(path)
            if place.exists():
                place.rename(old)
            partial.rename(place)
            _flush(place.parent)
            shutil.rmtree(old, ignore_errors=True)


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.name}.{ending}")


def _restore(old: Path, place: Path) -> None:
    if old.exists() and not place.exists():
        old.rename(place)


@contextmanager
def locked(partial: Path, clean_up: Callable[[], object], is_folder: bool = False) -> Iterator[None]:
    """Make a file or a folder to write to, and hold a lock on it, which ends with the process; Windows has none.

    ``clean_up`` is called in the end, whatever happens: Ctrl-C waits until that is certain. Raises WeftError if another
    process has the lock; then nothing is cleaned up.
    """
    with ExitStack() as stack:
        with interrupts_later():
            if is_folder:
                partial.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_lock(partial, os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT))
            stack.callback(clean_up)
        yield


@contextmanager
def used_alone(folder: Path, doing: str) -> Iterator[None]:
    """Keep other processes from ``doing`` the same in a folder, which is made. Raises WeftError if one is at it."""
    mark = folder / "in-use"
    with ExitStack() as stack:
        with _errors_of_writing(folder, mark):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locked(mark, lambda: mark.unlink(missing_ok=True)))
            except WeftError:
                problem = f"another process is {doing} in this folder"
                raise WeftError(f"{folder}: {problem}; wait until it has ended, or choose another folder") from None
        yield


@contextmanager
def _lock(partial: Path, flags: int) -> Iterator[None]:
    if fcntl is None:
        if flags & os.O_CREAT:
            partial.touch()
        yield
        return
    descriptor = os.open(partial, flags, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken = not os.path.samestat(os.fstat(descriptor), os.stat(partial))  # renamed before we had the lock
        except (BlockingIOError, FileNotFoundError):
            taken = True
        except OSError:  # a file system without locks
            taken = False
        if taken:
            raise WeftError(f"{partial}: another process is writing it")
        yield
    finally:
        os.close(descriptor)


def _flush(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on disk."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        with suppress(*[OSError] if is_folder else []):  # not every file system can do it for folders
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _errors_of_writing(path: Path, partial: Path) -> Iterator[None]:
    """Turn OSError into WeftError that names ``path``, and the file that could not be used if that is another one."""
    try:
        yield
    except OSError as error:
        other = f"{error.filename}: " if error.filename and str(partial) not in str(error.filename) else ""
        problem = f"{other}{error.strerror or error}"
        raise WeftError(f"{path}: cannot be written: {problem}; what was there before is untouched") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """Write plain data as JSON, indented for people unless ``indent`` is None."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    with atomic_file(path) as partial:
        partial.write_bytes(text.encode(errors="backslashreplace"))  # names of files may have bytes that are no UTF-8


def read_bytes(path: Path, most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes. Raises WeftError if there is none or it cannot be read."""
    try:
        if path.exists() and not path.is_file():  # devices have no end, and pipes may never begin
            raise WeftError(f"{path}: not a regular file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise WeftError(f"{path}: {size / 1e6:,.1f} MB, but it can have {most / 1e6:,.1f} MB at most")
            return file.read(size)
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None


def read_text(path: Path, most: int) -> str:
    """Read a regular file of at most ``most`` bytes of UTF-8. Raises WeftError if there is none or it is damaged."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError:
        raise WeftError(f"{path}: damaged: not UTF-8") from None


def read_json(path: Path, most: int = _MOST_JSON) -> Any:
    """Read a JSON file. Raises FileNotFoundError if it is missing, WeftError if it cannot be read."""
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    try:
        return json.loads(read_text(path, most))
    except (ValueError, RecursionError):
        raise WeftError(f"{path}: damaged: not JSON") from None


def read_description(path: Path, form: str, kind: str, remedy: str = "", needs: Sequence[str] = ()) -> dict[str, Any]:
    """Read the file that makes a folder a ``kind`` of the format ``form``. Returns its members.

    ``needs`` are the members that it must have; ``remedy`` ends every error.
    """
    try:
        described = read_json(path)
    except FileNotFoundError:
        raise WeftError(f"{path.parent}: not a {kind} (no {path.name}){remedy}") from None
    except WeftError as error:
        raise WeftError(f"{error}{remedy}") from None
    if not isinstance(described, dict) or described.get("format") != form:
        raise WeftError(f"{path}: not of the format '{form}'{remedy}")
    for name in needs:
        if name not in described:
            raise WeftError(f"{path}: damaged, it has no '{name}'{remedy}")
    return described


def checksum_of(path: Path, span: range | None = None) -> str:
    """Return the SHA-256 of a file, or of a span of its bytes."""
    with path.open("rb") as file:
        if span is None:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        file.seek(span.start)
        while read := file.read(min(1 << 20, span.stop - file.tell())):
            digest.update(read)
        return digest.hexdigest()
