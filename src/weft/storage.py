"""The only way anything is written: beside its place, flushed to disk, then renamed, so that nobody sees half of it.

And its counterpart, JSON files that describe folders (prepared corpora, links, models) and name the format they are of.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import WeftError

_MOST_JSON = 50_000_000  # bytes; a description is never so large


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; it takes the name ``path`` at the end, or is removed on any error.

    Raises WeftError if the disk does not take it.
    """
    try:
        partial = _beside(path)
        yield partial
        _flush(partial)
        partial.replace(path)
    except OSError as error:
        raise _not_written(path, error) from None
    finally:
        path.with_name(f"{path.name}.partial").unlink(missing_ok=True)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``folder`` to fill; it takes the place of ``folder`` at the end, or is removed."""
    try:
        partial = _beside(folder)
        partial.mkdir()
        yield partial
        for path in partial.iterdir():
            _flush(path)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    except OSError as error:
        raise _not_written(folder, error) from None
    finally:
        shutil.rmtree(folder.with_name(f"{folder.name}.partial"), ignore_errors=True)


def _beside(path: Path) -> Path:
    """Return the name to write under, without what a killed run may have left there; makes the parent folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)
    return partial


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _not_written(path: Path, error: OSError) -> WeftError:
    return WeftError(f"{path}: cannot be written: {error.strerror or error}; what was there before is untouched")


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """Write plain data as JSON, indented for people unless ``indent`` is None."""
    write_text(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def write_array(path: Path, array: np.ndarray) -> None:
    """Write the bytes of an array. (``np.tofile`` loses the last bytes on a full disk without a word.)"""
    with path.open("wb") as file:
        file.write(np.ascontiguousarray(array).data)


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises FileNotFoundError if it is missing, WeftError if it cannot be read."""
    try:
        if not path.is_file() and path.exists():
            raise WeftError(f"{path}: not a regular file")
        if path.stat().st_size > _MOST_JSON:
            raise WeftError(f"{path}: too large for what it should be")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):  # also of what is no UTF-8
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


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
