"""``weft bulk`` on a Ray cluster of this machine, with files of a folder and of an object store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import fs, parquet

from weft.cli.align import Options, align

pytest.importorskip("ray")
TEXT = Path(__file__).parents[2] / "examples" / "de-en.tsv"
PAIRS = [line.split("\t") for line in TEXT.read_text("utf-8").splitlines()]


def test_files_of_all_kinds_are_aligned_once(tmp_path: Path, object_store: fs.S3FileSystem) -> None:
    shards, stored = tmp_path / "shards", "s3://bucket/shards"
    shards.mkdir()
    (shards / "a.tsv").write_text(TEXT.read_text("utf-8") * 20, "utf-8")
    objects = ({"source": source, "target": target} for source, target in PAIRS)
    (shards / "b.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    columns = {name: [pair[side] for pair in PAIRS] for side, name in enumerate(("source", "target"))}
    parquet.write_table(pyarrow.table(columns), shards / "c.parquet")
    parquet.write_table(pyarrow.table({"text": ["x"]}), shards / "d.parquet")  # not that of a corpus
    fs.copy_files(str(shards), "bucket/shards", destination_filesystem=object_store)
    object_store.delete_file("bucket/shards/a.tsv")
    inputs = [str(shards / "a.tsv"), stored]
    command = [sys.executable, "-m", "weft", "bulk", *inputs, "-o", "s3://bucket/links", "--fast", "--workers", "1"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    assert f"weft: {stored}/d.parquet: needs two columns of text" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("weft: 1 of 4 parts could not be aligned")
    fs.copy_files("bucket/links", str(tmp_path), source_filesystem=object_store)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [one["pairs"] for one in manifest["files"]] == [120, 6, 6, 0] and manifest["pairs"] == 132
    for name in ("a.tsv", "b.jsonl", "c.parquet"):
        align(Options(str(shards / name), fast=True, cores=1, output=str(tmp_path / "alone.parquet")))
        assert (tmp_path / f"{name}.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
