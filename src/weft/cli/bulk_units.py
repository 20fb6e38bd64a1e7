"""The units of ``weft bulk``: parts of files, each aligned by one worker into a file of its own, and the manifest.

A unit is done if the manifest says so; its file is complete or not there, and always has the same bytes. So a unit that
was interrupted, or finished after the last manifest, is done again, and nothing is lost or doubled.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import weft
from weft.cli.align import Options, align, model_checksums
from weft.errors import WeftError
from weft.storage import atomic_file, checksum_of

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_FORMAT = "weft bulk 1"


class Unit(NamedTuple):
    """A part of a file."""

    input: str  # path or address
    input_bytes: int
    shard: str  # such as 3/8
    output: str  # the name of its file in the output folder


def units_of(inputs: Sequence[str], parts: int, to: str) -> list[Unit]:
    """Return the units of files and folders. Raises WeftError if a file is missing or a name occurs twice."""
    files = [found for name in inputs for found in _files(name)]
    if not files:
        raise WeftError(f"{', '.join(inputs)}: no files there")
    units: dict[str, Unit] = {}
    for name, size in files:
        for part in range(1, parts + 1):
            place = f".{part:05}-of-{parts:05}" if parts > 1 else ""
            output = f"{_without_options(name)[0].rpartition('/')[2]}{place}.{to}" + ("" if to == "parquet" else ".zst")
            if output in units:
                raise WeftError(f"{name}: has the name of {units[output].input}, and so have their results; rename one")
            units[output] = Unit(name, size, f"{part}/{parts}", output)
    return list(units.values())


class UnitAligner:
    """Aligns units, one after the other, in a worker process that keeps its aligner in memory."""

    def __init__(self, output: str, settings: dict[str, Any]) -> None:
        self._output, self._settings = output, settings

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        """Align a unit. Returns its members, and the pairs, bytes and checksum of its file, or the error."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                written = Path(folder) / unit["output"]
                with _local_copy(unit["input"], Path(folder)) as text:
                    options = Options(text, shard=unit["shard"], output=str(written), **self._settings)
                    pairs = align(options)
                _put(written, address_in(self._output, unit["output"]))
            except (WeftError, OSError) as error:
                return unit | {"pairs": 0, "bytes": 0, "sha256": "", "error": str(error)}
            size, checksum = written.stat().st_size, checksum_of(written)
            return unit | {"pairs": pairs, "bytes": size, "sha256": checksum, "error": ""}


class Manifest:
    """What has been done: ``manifest.json`` in the output folder."""

    def __init__(self, folder: str, settings: dict[str, Any], results: dict[str, dict[str, Any]]) -> None:
        self.folder, self.settings, self.results = folder, settings, results

    @classmethod
    def open(cls, folder: str, settings: dict[str, Any]) -> Manifest:
        """Read the manifest of a folder, if there is one. Raises WeftError if it was made with other settings."""
        from weft.align.model_folder import open_model

        filesystem, path = open_store(folder)
        model = {"model": model_checksums(open_model(settings["model"]).path), "version of weft": weft.__version__}
        settings = json.loads(json.dumps(settings | model))
        del settings["cores"]  # on which nothing depends
        place = f"{path}/manifest.json"
        if not filesystem.get_file_info(place).is_file:
            return cls(folder, settings, {})
        with filesystem.open_input_stream(place) as file:
            read = json.loads(file.read())
        if read.get("format") != _FORMAT:
            raise WeftError(f"{folder}/manifest.json: not of the format '{_FORMAT}'; choose another folder")
        for name, value in settings.items():
            before = read["settings"].get(name)
            if before != value:
                raise WeftError(f"{folder}: its {name} was {before}, but is {value} now; choose another folder")
        return cls(folder, settings, {one["output"]: one for one in read["files"]})

    def has(self, unit: Unit) -> bool:
        """Tell whether a unit is done, of the same input, and its file is there."""
        found = self.results.get(unit.output)
        if found is None or found["error"] or any(found[name] != value for name, value in unit._asdict().items()):
            return False
        filesystem, path = open_store(self.folder)
        return filesystem.get_file_info(f"{path}/{unit.output}").size == found["bytes"]

    def add(self, result: dict[str, Any]) -> None:
        """Note what became of a unit."""
        self.results[result["output"]] = result

    @property
    def pairs(self) -> int:
        """The number of pairs in all files that are done."""
        return sum(one["pairs"] for one in self.results.values())

    def save(self) -> None:
        """Write it."""
        files = sorted(self.results.values(), key=lambda one: one["output"])
        members = {"format": _FORMAT, "settings": self.settings, "pairs": self.pairs, "files": files}
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "manifest.json"
            written.write_text(json.dumps(members, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            _put(written, address_in(self.folder, "manifest.json"))


# -- files and addresses -----------------------------------------------------------------------------------------------


def open_store(address: str) -> tuple[FileSystem, str]:
    """Return where a path or an address is: the file system and the path in it. Raises WeftError."""
    import pyarrow
    from pyarrow.fs import FileSystem

    try:
        return FileSystem.from_uri(address if "://" in address else os.path.abspath(address))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise WeftError(f"{address}: cannot be opened: {str(error).splitlines()[0]}") from None


def address_in(folder: str, name: str) -> str:
    """Return the path or address of a file in a folder; options such as ?region=eu-west-1 stay at the end."""
    base, options = _without_options(folder)
    return f"{base.rstrip('/')}/{name}{options}"


def _without_options(address: str) -> tuple[str, str]:
    """Return an address and its options apart; a path has none."""
    base, mark, options = address.partition("?") if "://" in address else (address, "", "")
    return base, f"{mark}{options}"


def _files(name: str) -> Iterator[tuple[str, int]]:
    """Yield the files of a folder, sorted, or the one file, each with its size; hidden ones are left out."""
    from pyarrow.fs import FileSelector, FileType

    filesystem, path = open_store(name)
    info = filesystem.get_file_info(path)
    if info.type == FileType.NotFound:
        raise WeftError(f"{name}: no such file or folder")
    found = [info] if info.is_file else filesystem.get_file_info(FileSelector(path, recursive=True))
    for one in sorted(found, key=lambda one: one.path):
        if one.is_file and not one.base_name.startswith((".", "_")):
            inside = one.path.removeprefix(path).lstrip("/")
            yield (address_in(name, inside) if inside else name), one.size


@contextlib.contextmanager
def _local_copy(name: str, folder: Path) -> Iterator[str]:
    """Yield the path of a file on this machine: itself, or a copy in ``folder``."""
    from pyarrow.fs import LocalFileSystem, copy_files

    filesystem, path = open_store(name)
    if isinstance(filesystem, LocalFileSystem):
        yield path
        return
    copy = folder / "input" / path.rpartition("/")[2]
    copy.parent.mkdir()
    copy_files(path, str(copy), source_filesystem=filesystem, destination_filesystem=LocalFileSystem())
    yield str(copy)
    copy.unlink()


def _put(written: Path, address: str) -> None:
    """Copy a file to where it belongs, and where it is complete or not there: object stores see to that themselves."""
    from pyarrow.fs import LocalFileSystem, copy_files

    filesystem, path = open_store(address)
    if isinstance(filesystem, LocalFileSystem):
        with atomic_file(Path(path)) as partial:
            shutil.copyfile(written, partial)
    else:
        copy_files(str(written), path, source_filesystem=LocalFileSystem(), destination_filesystem=filesystem)
