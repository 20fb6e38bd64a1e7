"""What making a lexicon costs beside aligning.

    python benchmarks/lexicon_speed.py corpus.tsv --pairs 20000

Runs ``weft align`` and ``weft lexicon`` on the same pairs, in turn, and then ``weft lexicon --links`` with the links
that exist. Prints JSON: pairs/s of each, start of the program included, and the speed of the lexicon as a share of
that of aligning alone, the median of all runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from weft.text.reading import open_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        text, links, lexicon = (str(Path(name) / part) for part in ("text.tsv", "links", "lexicon"))
        with open_lines(arguments.text) as lines:
            chosen = [line + b"\n" for line in itertools.islice(lines, arguments.pairs)]
        Path(text).write_bytes(b"".join(chosen))
        raw, fast = ["--raw"] * arguments.raw, ["--fast"] * arguments.fast
        commands = {
            "align": ["align", text, *raw, *fast, "-o", links],
            "lexicon": ["lexicon", text, *raw, *fast, "-o", lexicon],
            "lexicon --links": ["lexicon", text, *raw, "--links", links, "-o", lexicon],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(arguments.runs):
            for name, command in commands.items():
                began = time.perf_counter()
                subprocess.run([sys.executable, "-m", "weft", *command], check=True, stderr=subprocess.DEVNULL)
                seconds[name].append(time.perf_counter() - began)
        ratios = [one / other for one, other in zip(seconds["align"], seconds["lexicon"], strict=True)]
        speeds = {name: round(len(chosen) / statistics.median(times)) for name, times in seconds.items()}
        print(
            json.dumps({"pairs": len(chosen), "pairs_per_second": speeds, "share": round(statistics.median(ratios), 2)})
        )


if __name__ == "__main__":
    main()
