"""Two Ray nodes on one machine, a worker and then the driver killed: has every pair been aligned once?

    python benchmarks/ray_kills.py --files 20 --pairs 10000

Aligns files of short sentence pairs in this process, then with ``weft bulk`` on a cluster of two nodes of a core each.
A worker is killed when a fifth of the files is there, the driver when it is two fifths; then the same command runs
again. Compares all files, byte by byte, and counts the rows. Prints JSON. Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kills import short_pairs
from pyarrow import parquet
from ray.cluster_utils import Cluster

from weft.cli.align import Options, align


def workers_of(cluster: Cluster) -> list[int]:
    """The processes of all nodes that align."""
    raylets = {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title, status = (folder / "cmdline").read_bytes(), (folder / "status").read_text()
        except OSError:  # it has ended
            continue
        parent = int(status.partition("PPid:")[2].split()[0])
        if title.startswith(b"ray::") and b"MapWorker" in title and parent in raylets:
            found.append(int(folder.name))
    return found


def wait_for_files(folder: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while len(list(folder.glob("*.parquet"))) < count:
        if process.poll() is not None:
            raise SystemExit("weft bulk ended before it could be disturbed")
        time.sleep(0.05)


def kill_bulk(folder: Path, files: int, pairs: int) -> dict[str, Any]:
    text, alone, together = (folder / name for name in ("text", "alone", "together"))
    text.mkdir()
    alone.mkdir()
    lines = short_pairs(files * pairs)
    for number in range(files):
        path = text / f"{number:03}.tsv"
        path.write_text("".join(itertools.islice(lines, pairs)), encoding="utf-8")
        align(Options(str(path), model="ro-en", fast=True, cores=1, output=str(alone / f"{path.name}.parquet")))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    try:
        command = [sys.executable, "-m", "weft", "bulk", text, "-o", together, "--model", "ro-en", "--fast"]
        command = [str(one) for one in (*command, "--address", cluster.address)]
        process = subprocess.Popen(command)
        wait_for_files(together, files // 5, process)
        at_work = workers_of(cluster)
        os.kill(at_work[0], signal.SIGKILL)
        wait_for_files(together, 2 * files // 5, process)
        process.kill()
        process.wait()
        finished = len(list(together.glob("*.parquet")))
        subprocess.run(command, check=True)
    finally:
        cluster.shutdown()
    names = sorted(path.name for path in alone.iterdir())
    found = sorted(path.name for path in together.glob("*.parquet"))
    rows = [(name, line) for name in found for line in parquet.read_table(together / name)["line"].to_pylist()]
    manifest = json.loads((together / "manifest.json").read_text())
    return {
        "pairs": files * pairs,
        "workers": len(at_work),
        "files_when_the_driver_was_killed": finished,
        "rows": len(rows),
        "different_rows": len(set(rows)),
        "pairs_of_the_manifest": manifest["pairs"],
        "equal": names == found
        and all((alone / name).read_bytes() == (together / name).read_bytes() for name in names),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=10_000, help="of each file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(kill_bulk(Path(name), arguments.files, arguments.pairs)))


if __name__ == "__main__":
    main()
