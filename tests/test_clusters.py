"""The scripts of docs/clusters.md and docs/training.md: all are valid, and most are run as a scheduler would do it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from weft.cli.align import Options, align
from weft.text.reading import read_text

ROOT = Path(__file__).parents[1]
PAGE = "".join((ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("clusters", "training"))
SCRIPTS = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
PAIRS = [line.split("\t") for line in (ROOT / "examples" / "de-en.tsv").read_text("utf-8").splitlines()] * 4


def script_with(text: str) -> str:
    (found,) = (script for script in SCRIPTS if text in script)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The text that the scripts name, and the command weft."""
    (tmp_path / "corpus.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), "utf-8")
    for side, name in enumerate(("de", "en")):
        (tmp_path / f"corpus.{name}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")
    command = tmp_path / "bin" / "weft"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m weft "$@" --fast\n')
    command.chmod(0o755)
    return tmp_path


def run(script: str, folder: Path, **environment: str) -> None:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | environment | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0 and not result.stderr, result.stderr


def links(folder: Path, shard: str | None = None, files: tuple[str, ...] = ("corpus.tsv",)) -> list[str]:
    output = folder / "expected"
    align(Options(*(str(folder / name) for name in files), fast=True, shard=shard, output=str(output)))
    return output.read_text().splitlines()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.split("\n", 1)[0])
def test_scripts_are_valid(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_xargs(folder: Path) -> None:
    run(script_with("seq 8 |").replace("seq 8", "seq 2").replace("/8", "/2").replace("%g.zst 8", "%g.zst 2"), folder)
    assert list(read_text(str(folder / "links.zst"))) == links(folder)


@pytest.mark.skipif(shutil.which("parallel") is None, reason="needs GNU parallel")
def test_gnu_parallel(folder: Path) -> None:
    script = script_with("parallel ").replace("--sshloginfile hosts --workdir .", "").replace("64", "2")
    run(script, folder)
    assert [line for part in (1, 2) for line in read_text(str(folder / f"links.{part}.zst"))] == links(folder)


def test_slurm(folder: Path) -> None:
    environment = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_CPUS_PER_TASK": "1"}
    run(script_with("#SBATCH --array"), folder, **environment)
    assert list(read_text(str(folder / "links" / "00002.zst"))) == links(folder, "2/3", ("corpus.de", "corpus.en"))


def test_kubernetes(folder: Path) -> None:
    (job,) = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
    assert job["spec"]["completionMode"] == "Indexed" and job["spec"]["completions"] == 64
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    run(script.replace("/64", "/3"), folder, JOB_COMPLETION_INDEX="1")
    assert list(read_text(str(folder / "links.1.zst"))) == links(folder, "2/3")
