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
from urllib.parse import quote, unquote, urlsplit

import weft
from weft.cli.align import Options, align_text, model_checksums
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


_RESULT = {*Unit._fields, "pairs", "bytes", "sha256", "error"}  # what the manifest says of a unit


def units_of(inputs: Sequence[str], parts: int, to: str) -> list[Unit]:
    """Return the units of files and folders. Raises WeftError if a file is missing or a name occurs twice."""
    files = [found for name in inputs for found in _files(name)]
    if not files:
        raise WeftError(f"{', '.join(inputs)}: no files there")
    units: dict[str, Unit] = {}
    for name, size in files:
        base_name = _shown(name).rpartition("/")[2]
        for part in range(1, parts + 1):
            place = f".{part:05}-of-{parts:05}" if parts > 1 else ""
            output = f"{base_name}{place}.{to}" + ("" if to == "parquet" else ".zst")
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
            written, text = Path(folder) / unit["output"], unit["input"]
            shown = _shown(unit["input"])  # not the copy of it that is read
            try:
                text = _local_copy(unit["input"], folder)
                pairs = align_text(Options(text, shard=unit["shard"], output=str(written), **self._settings), shown)
                _put(written, address_in(self._output, unit["output"]))
            except (WeftError, OSError) as error:
                problem = str(error).replace(text, shown)
                return unit | {"pairs": 0, "bytes": 0, "sha256": "", "error": problem}
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

        model = {"model": model_checksums(open_model(settings["model"]).path), "version of weft": weft.__version__}
        settings = json.loads(json.dumps(settings | model))
        del settings["cores"]  # on which nothing depends
        with opened_store(folder) as (filesystem, path):
            if not filesystem.get_file_info(f"{path}/manifest.json").is_file:
                return cls(folder, settings, {})
            with filesystem.open_input_stream(f"{path}/manifest.json") as file:
                content = file.read()
        try:
            read = json.loads(content)
            if read["format"] != _FORMAT or any(one.keys() != _RESULT for one in read["files"]):
                raise ValueError
            before, results = dict(read["settings"]), {one["output"]: one for one in read["files"]}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = f"not of the format '{_FORMAT}'; choose another folder"
            raise WeftError(f"{folder}/manifest.json: {problem}") from None
        for name, value in settings.items():
            if before.get(name) != value:
                raise WeftError(
                    f"{folder}: its {name} was {before.get(name)}, but is {value} now; choose another folder"
                )
        return cls(folder, settings, results)

    def has(self, unit: Unit) -> bool:
        """Tell whether a unit is done, of the same input, and its file is there."""
        found = self.results.get(unit.output)
        if found is None or found["error"] or any(found[name] != value for name, value in unit._asdict().items()):
            return False
        with opened_store(self.folder) as (filesystem, path):
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


@contextlib.contextmanager
def opened_store(address: str) -> Iterator[tuple[FileSystem, str]]:
    """Yield where a path or an address is, the file system and the path in it. What fails there is a WeftError."""
    import pyarrow
    from pyarrow.fs import FileSystem

    try:
        if urlsplit(address).password:
            raise WeftError(
                f"{_shown(address)}: its password would be in the manifest; give it by the environment, as in "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        yield FileSystem.from_uri(address if "://" in address else os.path.abspath(address))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise WeftError(f"{_shown(address)}: {problem.splitlines()[0]}") from None


def address_in(folder: str, name: str) -> str:
    """Return the path or address of a file in a folder; options such as ?region=eu-west-1 stay at the end."""
    base, mark, options = _split(folder)
    return f"{base.rstrip('/')}/{quote(name) if '://' in folder else name}{mark}{options}"


def _split(address: str) -> tuple[str, str, str]:
    """Return an address, the question mark and the options after it; a path has none."""
    return address.partition("?") if "://" in address else (address, "", "")


def _shown(address: str) -> str:
    """Return what messages call a path or an address: without options, credentials and %20."""
    if "://" not in address:
        return address
    scheme, _, place = _split(address)[0].partition("://")
    host, slash, path = place.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{unquote(path)}"


def _files(name: str) -> Iterator[tuple[str, int]]:
    """Yield the files of a folder, sorted, or the one file, each with its size; hidden ones are left out."""
    from pyarrow.fs import FileSelector, FileType

    with opened_store(name) as (filesystem, path):
        info = filesystem.get_file_info(path)
        if info.type == FileType.NotFound:
            raise WeftError(f"{_shown(name)}: no such file or folder")
        found = [info] if info.is_file else filesystem.get_file_info(FileSelector(path, recursive=True))
    for one in sorted(found, key=lambda one: one.path):
        if one.is_file and not one.base_name.startswith((".", "_")):
            inside = one.path.removeprefix(path).lstrip("/")
            yield (address_in(name, inside) if inside else name), one.size


def _local_copy(name: str, folder: str) -> str:
    """Return the path of a file on this machine: its own, or that of a copy in ``folder``."""
    from pyarrow.fs import LocalFileSystem, copy_files

    with opened_store(name) as (filesystem, path):
        if isinstance(filesystem, LocalFileSystem):
            return path
        copy = Path(folder) / "input" / path.rpartition("/")[2]
        copy.parent.mkdir()
        copy_files(path, str(copy), source_filesystem=filesystem, destination_filesystem=LocalFileSystem())
        return str(copy)


def _put(written: Path, address: str) -> None:
    """Copy a file to where it belongs, and where it is complete or not there: object stores see to that themselves."""
    from pyarrow.fs import LocalFileSystem, copy_files

    with opened_store(address) as (filesystem, path):
        if isinstance(filesystem, LocalFileSystem):
            with atomic_file(Path(path)) as partial:
                shutil.copyfile(written, partial)
        else:
            copy_files(str(written), path, source_filesystem=LocalFileSystem(), destination_filesystem=filesystem)
