"""Faults of real commands: killed processes, a full disk, damaged files among good ones. Nothing is lost or doubled."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cli.align import Options, align

ORDINARY = Path(__file__).parent / "ordinary" / "ro-en.tsv"
ALIGN = [sys.executable, "-m", "weft", "align", "--model", "ro-en", "--fast"]
LINES = 8_000


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short lines, in four blocks."""
    rows = [line.split("\t")[:2] for line in ORDINARY.read_text("utf-8").splitlines()]
    starts = [[" ".join(side.split()[:2]) for side in row] for row in rows]
    path = tmp_path_factory.mktemp("text") / "text.tsv"
    lines = (starts[number % len(starts)] for number in range(LINES))
    path.write_text("".join(f"{source} {number}\t{target} {number}\n" for number, (source, target) in enumerate(lines)))
    return path


@pytest.fixture(scope="module")
def links(text: Path) -> bytes:
    """What a command that nobody disturbs makes of it."""
    output = text.with_name("links")
    align(Options(str(text), model="ro-en", fast=True, cores=1, output=str(output)))
    return output.read_bytes()


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def disturbed(command: list[str], partial: Path, disturb: Callable[[int], None]) -> tuple[int, str]:
    """Start a command and disturb it when it has written its first lines. Returns its exit code and its messages."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not partial.exists() or not partial.stat().st_size:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        disturb(process.pid)
        messages = process.communicate()[1]
    return process.returncode, messages


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def kill_a_worker(process: int) -> None:
    kill(max(children(process), key=lambda child: Path(f"/proc/{child}/statm").read_text().split()[1].zfill(12)))


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds worker processes in /proc")
def test_a_killed_worker_or_shard_is_made_up_for(text: Path, links: bytes, tmp_path: Path) -> None:
    whole = [*ALIGN, "--cores", "2", str(text), "-o", str(tmp_path / "links"), "--resume"]
    code, messages = disturbed(whole, tmp_path / "links.partial", kill_a_worker)
    assert (
        code == 1 and messages == "weft: a worker process was killed, perhaps for want of memory; try again with less\n"
    )
    assert links.startswith((tmp_path / "links.partial").read_bytes())
    parts = [[*ALIGN, str(text), "--shard", f"{one}/2", "-o", str(tmp_path / f"{one}"), "--resume"] for one in (1, 2)]
    code, messages = disturbed([*parts[1], "--cores", "1"], tmp_path / "2.partial", kill)
    assert code == -signal.SIGKILL and not messages and not (tmp_path / "2").exists()
    for command in (whole, *parts):
        subprocess.run([*command, "--cores", "1"], check=True)
    assert (tmp_path / "links").read_bytes() == links
    assert (tmp_path / "1").read_bytes() + (tmp_path / "2").read_bytes() == links


def test_a_full_disk_is_gone_on_from(text: Path, links: bytes, tmp_path: Path) -> None:
    code = (
        "import resource, signal; from weft.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "main()"
    )
    output = tmp_path / "links"
    command = [*ALIGN, "--cores", "1", str(text), "-o", str(output)]
    full = subprocess.run([sys.executable, "-c", code, *command[3:]], capture_output=True, text=True)
    assert full.returncode == 1 and full.stderr == f"weft: {output}: cannot be written: File too large\n"
    partial = tmp_path / "links.partial"
    assert not output.exists() and partial.stat().st_size == 40_000 and links.startswith(partial.read_bytes())
    subprocess.run([*command, "--resume"], check=True)
    assert output.read_bytes() == links


def test_a_damaged_file_among_good_ones(text: Path, tmp_path: Path) -> None:
    lines = text.read_bytes().splitlines(keepends=True)[:30]
    for number in range(3):
        content = gzip.compress(b"".join(lines[10 * number : 10 * number + 10]))
        (tmp_path / f"{number}.tsv.gz").write_bytes(content[:-12] if number == 1 else content)
    script = f"ls *.tsv.gz | xargs -P 2 -I NAME {' '.join(ALIGN)} --cores 1 NAME -o NAME.links.zst"
    result = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 123  # what xargs says if a command has failed
    assert result.stderr.startswith("weft: 1.tsv.gz: cannot be read to its end: ") and result.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.glob("*.links*")) == ["0.tsv.gz.links.zst", "2.tsv.gz.links.zst"]
