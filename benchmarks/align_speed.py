"""Pairs per second and memory on a CPU: our small aligners, statistical aligners, and an encoder of BERT's size.

    python benchmarks/align_speed.py pairs.tsv --models multi run/aligner --peers --bert python

All on the same text, in one run. Ours are timed as a command, with and without their start, which is the time of a
single pair; text of more than 2,000 pairs is shared by several processes, whose memory is counted together.
``--peers`` adds eflomal and fast_align where they are on the PATH, training included, as their users must. ``--bert``
is a Python that has torch and transformers, for ``bert_sized.py``, on the first pairs only. Prints a JSON line for
each; ``times_bert`` is the ratio to the encoder of BERT's size.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from process_memory import megabytes


def timed(command: list[str], output: Path) -> tuple[float, float]:
    """Seconds of a command and the peak memory of all its processes in MB."""
    began, most = time.perf_counter(), 0.0
    with output.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, megabytes(process.pid))
            time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    return time.perf_counter() - began, most


def weft_command(model: str, options: list[str]) -> list[str]:
    return [sys.executable, "-m", "weft", "align", "--model", model, *options]


def ours(model: str, options: list[str], text: Path, single: Path, output: Path, pairs: int) -> dict[str, Any]:
    command = weft_command(model, options)
    start, _ = timed([*command, str(single)], output)
    seconds, memory = timed([*command, str(text)], output)
    assert output.read_bytes().count(b"\n") == pairs
    figures = {"seconds": seconds, "start": start, "memory_mb": memory, "pairs_per_second": pairs / (seconds - start)}
    return {"system": " ".join(["weft", model, *options]), **figures, "with_start": pairs / seconds}


def peers(text: Path, folder: Path, pairs: int) -> list[dict[str, Any]]:
    both, forward, backward = folder / "both", folder / "forward", folder / "backward"
    both.write_text(text.read_text(encoding="utf-8").replace("\t", " ||| "), encoding="utf-8")
    commands = {
        "eflomal": [["eflomal-align", "--overwrite", "-i", str(both), "-f", str(forward), "-r", str(backward)]],
        "fast_align": [["fast_align", "-i", str(both), "-d", "-o", "-v", *way] for way in ([], ["-r"])],
    }
    found = []
    for name, steps in commands.items():
        if shutil.which(steps[0][0]):
            times = [timed(step, forward) for step in steps]
            seconds = sum(one for one, _ in times)
            figures = {"seconds": seconds, "memory_mb": max(memory for _, memory in times)}
            found.append({"system": name, **figures, "with_start": pairs / seconds})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="TSV, words between spaces")
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--options", default="", help="for weft align, such as '--device cuda'")
    parser.add_argument("--fast", action="store_true", help="also measure weft align --fast")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--bert", metavar="PYTHON")
    parser.add_argument("--bert-pairs", type=int, default=256)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, single, output = folder / "text.tsv", folder / "single.tsv", folder / "links"
        with arguments.text.open(encoding="utf-8") as file:
            lines = [line for line, _ in zip(file, range(arguments.pairs), strict=False)]
        text.write_text("".join(lines), encoding="utf-8")
        single.write_text(lines[0], encoding="utf-8")
        options = arguments.options.split()
        found = [
            ours(model, [*options, *fast], text, single, output, len(lines))
            for model in arguments.models
            for fast in ([[], ["--fast"]] if arguments.fast else [[]])
        ]
        if arguments.peers:
            found += peers(text, folder, len(lines))
        if arguments.bert:
            script = Path(__file__).with_name("bert_sized.py")
            command = [arguments.bert, str(script), str(text), "--pairs", str(arguments.bert_pairs)]
            bert = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            found.append({"system": "encoder of BERT's size, 8 layers", **bert})
            for line in found:
                rate = line.get("pairs_per_second", line.get("with_start"))
                line["times_bert"] = rate / bert["pairs_per_second"]
    for line in found:
        print(json.dumps({key: round(value, 2) if isinstance(value, float) else value for key, value in line.items()}))


if __name__ == "__main__":
    main()
