"""A file of a million pairs: memory that does not grow, and a kill half way that loses nothing.

    python benchmarks/large_file.py --pairs 1000000

Makes sentence pairs out of those in examples/ (words left out, doubled, numbers put in), aligns them with ``weft
align`` in one go, watching the memory of its processes, then again with a SIGKILL half way and ``--resume``, and
compares the two files. Prints JSON. Linux only.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from process_memory import megabytes

EXAMPLES = Path(__file__).parents[1] / "examples" / "de-en.tsv"


def made_pairs(count: int) -> Iterator[str]:
    """Lines of text, nearly all of them different."""
    generator = random.Random(1)
    pairs = [line.split("\t") for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]

    def perturbed(sentence: str) -> str:
        words = [word for word in sentence.split() for _ in range(generator.choice((0, 1, 1, 1, 1, 1, 2)))]
        words.insert(generator.randrange(len(words) + 1), str(generator.randrange(10_000)))
        return " ".join(words)

    for _ in range(count):
        source, target = generator.choice(pairs)
        yield f"{perturbed(source)}\t{perturbed(target)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--model", default="multi")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        text, whole, resumed = (Path(name) / part for part in ("text.tsv", "whole", "resumed"))
        with text.open("w", encoding="utf-8") as file:
            file.writelines(made_pairs(arguments.pairs))
        command = [sys.executable, "-m", "weft", "align", "--model", arguments.model, str(text), "--output"]

        began = time.perf_counter()
        process, held = subprocess.Popen([*command, str(whole)]), []
        while process.poll() is None:
            held.append(megabytes(process.pid))
            time.sleep(1)
        seconds = time.perf_counter() - began

        process = subprocess.Popen([*command, str(resumed)])
        partial = resumed.with_name("resumed.partial")
        while not partial.exists() or partial.stat().st_size < whole.stat().st_size / 2:
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_at = partial.read_bytes().count(b"\n")
        subprocess.run([*command, str(resumed), "--resume"], check=True)

        lines = whole.read_bytes().count(b"\n")
        half = len(held) // 2
        print(
            json.dumps(
                {
                    "pairs": arguments.pairs,
                    "lines": lines,
                    "seconds": round(seconds, 1),
                    "memory_mb_first_half": round(max(held[:half])),
                    "memory_mb_second_half": round(max(held[half:-1])),
                    "killed_after_lines": killed_at,
                    "equal_after_resuming": whole.read_bytes() == resumed.read_bytes(),
                }
            )
        )


if __name__ == "__main__":
    main()
