"""The units of ``weft bulk``, without Ray: which they are, what becomes of them, what the manifest says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from pyarrow import fs, parquet

from weft.cli import bulk as command
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
        "other://x": "other://x: ",
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
    ours = '{"format": "weft bulk 1"'
    for content in ("{}", "[]", "{", ours + "}", ours + ', "settings": {}, "files": [{"output": "a"}]}', "[" * 10**5):
        (tmp_path / "links" / "manifest.json").write_text(content)
        with pytest.raises(WeftError, match=r"manifest\.json: not of the format 'weft bulk 1'"):
            Manifest.open(output, SETTINGS)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The units that each command does: here and now, as Ray would give their results."""
    asked: list[list[str]] = []

    def results(units: list[Unit], options: command.Options) -> list[dict]:
        asked.append([unit.output for unit in units])
        return [UnitAligner(options.output, options.align)(unit._asdict()) for unit in units]

    monkeypatch.setattr(command, "_results", results)
    return asked


def test_the_command_does_what_is_left(shards: Path, tmp_path: Path, asked: list[list[str]]) -> None:
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


ODD_NAME = "zwei Wörter, 100 %20 #1?+.tsv"


def test_object_stores_are_read_and_written(
    object_store: fs.S3FileSystem, shards: Path, tmp_path: Path, asked: list[list[str]]
) -> None:
    (shards / "b.tsv").rename(shards / ODD_NAME)
    (shards / "large.tsv").write_bytes(TEXT.read_bytes() * 200)
    fs.copy_files(str(shards), "bucket/more/shards", destination_filesystem=object_store)
    endpoint = f"?endpoint_override={os.environ['AWS_ENDPOINT_URL']}&region=eu-west-1"
    for output, options in {"s3://bucket/links": "", "s3://bucket/new%20links": endpoint}.items():
        inputs = (f"s3://bucket/more/shards{options}",)
        settings = command.Options(inputs, output=output + options, parts=2, to="jsonl", fast=True)
        command.bulk(settings)
        folder = unquote(output.removeprefix("s3://"))
        with object_store.open_input_stream(f"{folder}/manifest.json") as file:
            manifest = json.loads(file.read())
        assert manifest["pairs"] == 6 * 202 and not any(one["error"] for one in manifest["files"])
        for name in ("a.tsv", ODD_NAME, "large.tsv"):
            for part in (1, 2):
                alone, written = tmp_path / "alone.zst", f"{folder}/{name}.0000{part}-of-00002.jsonl.zst"
                align(Options(str(shards / name), shard=f"{part}/2", format="jsonl", fast=True, output=str(alone)))
                with object_store.open_input_file(written) as file:  # its bytes, not decompressed
                    assert file.read() == alone.read_bytes()
        object_store.delete_file(written)
        for _ in range(2):
            command.bulk(settings)
        assert [len(units) for units in asked] == [6, 1]  # then what was lost, then nothing
        asked.clear()


def test_a_damaged_file_of_a_store_is_named(object_store: fs.S3FileSystem, asked: list[list[str]]) -> None:
    with object_store.open_output_stream("bucket/shards/a b.tsv.gz", compression=None) as file:
        file.write(b"no gzip")
    with pytest.raises(WeftError, match="1 of 1 parts could not be aligned"):
        command.bulk(command.Options(("s3://bucket/shards",), output="s3://bucket/links"))
    with object_store.open_input_stream("bucket/links/manifest.json") as file:
        (one,) = json.loads(file.read())["files"]
    assert one["input"] == "s3://bucket/shards/a%20b.tsv.gz"
    assert one["error"].startswith("s3://bucket/shards/a b.tsv.gz: cannot be read to its end: ")


def test_warnings_name_the_file_of_the_store(
    object_store: fs.S3FileSystem, asked: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with object_store.open_output_stream("bucket/shards/a b.tsv") as file:
        file.write(b"das Haus\tthe house\none side\n")
    command.bulk(command.Options(("s3://bucket/shards",), output="s3://bucket/links", fast=True))
    warnings = [line for line in capsys.readouterr().err.splitlines() if "expected two columns" in line]
    assert len(warnings) == 1 and warnings[0].startswith("weft: s3://bucket/shards/a b.tsv:2: expected two columns")


def test_a_store_where_nothing_can_be_written_is_found_before_the_work(
    object_store: fs.S3FileSystem, shards: Path, asked: list[list[str]]
) -> None:
    with pytest.raises(WeftError, match=r"s3://none/links/manifest\.json: .*bucket does not exist"):
        command.bulk(command.Options((str(shards),), output="s3://none/links"))
    assert not asked


@pytest.mark.parametrize(
    ("inputs", "output", "problem"),
    [
        ("s3://bucket/shards", "links", "weft: s3://bucket/shards: "),
        ("examples", "s3://bucket/links", "weft: s3://bucket/links: "),
        ("s3://name:secret@bucket/shards", "links", "weft: s3://bucket/shards: its password would be in the manifest"),
        ("s3://bucket/my shards", "links", "weft: s3://bucket/my shards: Cannot parse URI"),
        ("s3://bucket/shards?password=x", "links", "weft: s3://bucket/shards: Unexpected query parameter"),
    ],
)
def test_stores_that_cannot_be_reached(inputs: str, output: str, problem: str, tmp_path: Path) -> None:
    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    shutil.copytree(TEXT.parent, tmp_path / "examples", ignore=shutil.ignore_patterns("notebooks"))
    result = subprocess.run(
        [sys.executable, "-m", "weft", "bulk", inputs, "-o", output],
        env=os.environ | nowhere,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith(problem) and "secret" not in result.stderr
    assert not (tmp_path / "links").exists()


@pytest.mark.parametrize(("option", "problem"), [("parts", "--parts must be at least 1"), ("cores", "--cores must be")])
def test_numbers_that_are_too_small(option: str, problem: str) -> None:
    with pytest.raises(WeftError, match=problem):
        command.Options(("text",), output="links", **{option: 0}).check()  # type: ignore
