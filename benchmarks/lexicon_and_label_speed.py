"""What a lexicon and the projection of labels cost beside aligning.

    python benchmarks/lexicon_and_label_speed.py corpus.tsv --pairs 20000

Runs ``weft align``, ``weft lexicon``, ``weft lexicon --links`` with the links that exist then, and ``weft project``
with a label on every fifth word, on the same pairs, words between spaces, in turns. Prints JSON: pairs per second of
the processor's time, all processes and the start of the program included, and that time as a multiple of what aligning
takes; each counts as fast as in its fastest round, so that other work on the machine counts little. Not for Windows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from weft.text.reading import open_lines


def seconds(command: list[str]) -> float:
    """Run weft. Returns the time of the processor that it takes, in all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "weft", *command], check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def labelled(sentence: str) -> str:
    """Return a sentence as tokens with IOB tags."""
    return "".join(f"{word} {'O' if number % 5 else 'B-X'}\n" for number, word in enumerate(sentence.split())) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, links, lexicon, labels, target, out = (
            str(folder / part) for part in ("text.tsv", "links", "lexicon", "labels.iob2", "target", "out")
        )
        with open_lines(arguments.text) as lines:
            chosen = [line.decode() for line in itertools.islice(lines, arguments.pairs)]
        pairs = [(source, target) for source, target in (line.split("\t") for line in chosen)]
        Path(text).write_text("".join(f"{line}\n" for line in chosen))
        Path(labels).write_text("".join(labelled(source) for source, _ in pairs))
        Path(target).write_text("".join(f"{target}\n" for _, target in pairs))
        fast = ["--fast"] * arguments.fast
        commands = {
            "align": ["align", text, *fast, "-o", links],
            "lexicon": ["lexicon", text, *fast, "-o", lexicon],
            "lexicon --links": ["lexicon", text, "--links", links, "-o", lexicon],
            "project": ["project", labels, target, *fast, "-o", out],
        }
        rounds = [[seconds(command) for command in commands.values()] for _ in range(arguments.rounds)]
        least = dict(zip(commands, map(min, zip(*rounds, strict=True)), strict=True))
    figures = {
        "pairs": len(pairs),
        "pairs_per_second": {name: round(len(pairs) / time) for name, time in least.items()},
        "times_aligning": {name: round(time / least["align"], 2) for name, time in least.items()},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
