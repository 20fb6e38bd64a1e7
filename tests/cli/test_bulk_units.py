"""The units of ``weft bulk``, without Ray: which they are, what becomes of them, what the manifest says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyarrow import fs, parquet

from weft.cli import bulk as command
from weft.cli import bulk_units
from weft.cli.align import Options, align
from weft.cli.bulk_units import Manifest, Unit, UnitAligner, units_of
from weft.errors import WeftError

TEXT = Path(__file__).parents[2] / "examples" / "de-en.tsv"
SETTINGS = {"model": None, "fast": True, "cores": 1}


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name in ("b.tsv", "a.tsv", ".hidden", "_SUCCESS"):
        shutil.copy(TEXT, folder / name)
    return folder


def test_units_are_parts_of_files(shards: Path) -> None:
    size = TEXT.stat().st_size
    names = [str(shards / name) for name in ("a.tsv", "b.tsv")]
    whole = [Unit(name, size, "1/1", f"{Path(name).name}.parquet") for name in names]
    assert units_of([str(shards)], 1, "parquet") == units_of(names, 1, "parquet") == whole
    (address,) = units_of([f"file://{names[0]}"], 1, "jsonl")
    assert address == Unit(f"file://{names[0]}", size, "1/1", "a.tsv.jsonl.zst")
    outputs = [unit.output for unit in units_of(names[:1], 2, "pharaoh")]
    assert outputs == ["a.tsv.00001-of-00002.pharaoh.zst", "a.tsv.00002-of-00002.pharaoh.zst"]


def test_files_that_will_not_do(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (shards / "more").mkdir()
    shutil.copy(TEXT, shards / "more" / "a.tsv")
    for name, problem in {
        "none": "none: no such file or folder",
        "empty": "empty: no files there",
        "shards": r"more/a\.tsv: has the name of .*shards/a\.tsv, and so have their results; rename one",
        "other://x": "other://x: cannot be opened: ",
    }.items():
        with pytest.raises(WeftError, match=problem):
            units_of([name if "://" in name else str(tmp_path / name)], 1, "parquet")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_unit_is_what_weft_align_writes(shards: Path, tmp_path: Path, scheme: str) -> None:
    (unit, *_) = units_of([f"{scheme}{shards}"], 2, "parquet")
    output = tmp_path / "links"
    result = UnitAligner(f"{scheme}{output}", SETTINGS)(unit._asdict())
    expected = tmp_path / "expected.parquet"
    align(Options(str(shards / "a.tsv"), shard="1/2", output=str(expected), fast=True, cores=1))
    assert [path.name for path in output.iterdir()] == [unit.output]
    assert (output / unit.output).read_bytes() == expected.read_bytes()
    assert result["pairs"] == parquet.read_metadata(expected).num_rows == 3 and not result["error"]
    assert result["bytes"] == expected.stat().st_size


def test_files_of_object_stores(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())  # no local one for those who ask
    opened: list[str] = []

    def open_store(address: str) -> tuple[fs.FileSystem, str]:
        opened.append(address)
        return store, address.removeprefix("s3://").partition("?")[0]

    monkeypatch.setattr(bulk_units, "open_store", open_store)
    (unit, *_) = units_of(["s3://shards/?region=x"], 1, "pharaoh")
    assert unit.input == "s3://shards/a.tsv?region=x"
    manifest = Manifest.open("s3://links?region=x", SETTINGS)
    store.create_dir("links")
    manifest.add(UnitAligner("s3://links?region=x", SETTINGS | {"format": "pharaoh"})(unit._asdict()))
    manifest.save()
    assert opened[-1] == "s3://links/manifest.json?region=x"
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == ["a.tsv.pharaoh.zst", "manifest.json"]
    assert Manifest.open("s3://links?region=x", SETTINGS).has(unit) and manifest.pairs == 6


def test_a_damaged_file_is_a_result(shards: Path, tmp_path: Path) -> None:
    (shards / "b.tsv.gz").write_bytes(b"no gzip")
    unit = Unit(str(shards / "b.tsv.gz"), 7, "1/1", "b.parquet")
    result = UnitAligner(str(tmp_path / "links"), SETTINGS)(unit._asdict())
    assert result["error"].startswith(f"{shards}/b.tsv.gz: cannot be read to its end: ")
    assert not (tmp_path / "links").exists()


def test_what_the_manifest_has_is_done(shards: Path, tmp_path: Path) -> None:
    output = str(tmp_path / "links")
    one, other = units_of([str(shards)], 1, "parquet")
    manifest = Manifest.open(output, SETTINGS)
    manifest.add(UnitAligner(output, SETTINGS)(one._asdict()))
    manifest.add(other._asdict() | {"pairs": 0, "bytes": 0, "sha256": "", "error": "damaged"})
    manifest.save()
    again = Manifest.open(output, SETTINGS | {"cores": 8})
    assert again.has(one) and not again.has(other) and again.pairs == 6
    assert not again.has(one._replace(input_bytes=1))  # another text
    (tmp_path / "links" / one.output).write_bytes(b"cut off")
    assert not again.has(one)
    with pytest.raises(WeftError, match="links: its fast was True, but is False now; choose another folder"):
        Manifest.open(output, SETTINGS | {"fast": False})
    with pytest.raises(WeftError, match="links: its model was "):
        Manifest.open(output, SETTINGS | {"model": "ro-en"})
    (tmp_path / "links" / "manifest.json").write_text("{}")
    with pytest.raises(WeftError, match=r"manifest\.json: not of the format 'weft bulk 1'"):
        Manifest.open(output, SETTINGS)


def test_the_command_does_what_is_left(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def results(units: list[Unit], options: command.Options) -> list[dict]:  # as Ray would give them, one by one
        asked.append([unit.output for unit in units])
        return [UnitAligner(options.output, options.align)(unit._asdict()) for unit in units]

    monkeypatch.setattr(command, "_results", results)
    (shards / "c.tsv").write_text("one side\nanother\n")
    options = command.Options((str(shards),), output=str(tmp_path / "links"), to="pharaoh", fast=True)
    for _ in range(2):
        with pytest.raises(WeftError, match="1 of 3 parts could not be aligned; the same command tries them again"):
            command.bulk(options)
    shutil.copy(TEXT, shards / "c.tsv")
    for _ in range(2):
        command.bulk(options)
    left = ["c.tsv.pharaoh.zst"]
    assert asked == [["a.tsv.pharaoh.zst", "b.tsv.pharaoh.zst", *left], left, left]
    manifest = json.loads((tmp_path / "links" / "manifest.json").read_text())
    assert manifest["pairs"] == 18 and not any(one["error"] for one in manifest["files"])


@pytest.mark.parametrize(("option", "problem"), [("parts", "--parts must be at least 1"), ("cores", "--cores must be")])
def test_numbers_that_are_too_small(option: str, problem: str) -> None:
    with pytest.raises(WeftError, match=problem):
        command.Options(("text",), output="links", **{option: 0}).check()  # type: ignore
