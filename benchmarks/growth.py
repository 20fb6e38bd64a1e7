"""How the cost of each command grows with the number of pairs and with the length of sentences.

    python benchmarks/growth.py corpus.tsv growth.jsonl --stages align lexicon --sizes 10000 100000
    python benchmarks/growth.py corpus.tsv growth.jsonl --stages align --sizes 2000 --words 10 20 40 80
    python benchmarks/growth.py corpus.tsv growth.jsonl --plot docs/growth.png

Each run adds a line of JSON: the CPU seconds of all processes, which other work on the machine changes little, and the
peak of their memory. Each pair is two pairs of the corpus, joined, so that there are as many different ones as wanted;
with ``--words``, it is one whose source is about so long. Links are invented: each word with the one in the same place,
one in ten without. ``train`` is one epoch of translation models of the preset tiny,
``tune`` the counts and 20 updates. Linux only.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from process_memory import megabytes

from weft.text.reading import Corpus

STAGES = ("prepare", "train", "align", "tune", "lexicon", "symmetrize", "evaluate")
_EPOCH_TOKENS = 2_000  # target pieces of an update in training


def chosen(corpus: str, count: int, words: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield so many pairs: those of about ``words`` source words, again and again, or, if it is 0, joined ones.

    Joined pairs are two pairs of the corpus each, all different: neighbours first, then those two apart, and so on.
    """
    read: list[tuple[list[str], list[str]]] = []
    for block in Corpus(files=(corpus,)).blocks():
        for source, target in block.pairs(lambda bad: None):
            pair = source.split(), target.split()
            if all(pair) and (not words or 0.9 * words <= len(pair[0]) <= 1.1 * words):
                read.append(pair)
        if len(read) >= count:
            break
    if not read:
        sys.exit(f"{corpus} has no such pairs")
    for number in range(count):
        round_, place = divmod(number, len(read))
        one, other = read[place], read[(place + 1 + round_) % len(read)]
        yield one if words else (one[0] + other[0], one[1] + other[1])


def write_input(folder: Path, corpus: str, count: int, words: int) -> tuple[int, int]:
    """Write text, links and gold. Returns the words of both sides and the words of the target."""
    generator = random.Random(1)
    total = of_target = 0
    with (folder / "text.tsv").open("w") as text, (folder / "links").open("w") as links:
        for source, target in chosen(corpus, count, words):
            text.write(f"{' '.join(source)}\t{' '.join(target)}\n")
            shortest = range(min(len(source), len(target)))
            print(*(f"{place}-{place}" for place in shortest if generator.random() > 0.1), file=links)
            total, of_target = total + len(source) + len(target), of_target + len(target)
    return total, of_target


def command(stage: str, folder: Path, target_words: int) -> list[str]:
    """Return the command of a stage; its files are in ``folder``."""
    text, links, out = (str(folder / name) for name in ("text.tsv", "links", f"out-{stage}"))
    updates = max(1, round(1.2 * target_words / _EPOCH_TOKENS))  # a word has about 1.2 pieces
    settings = ["prepare.merges=4000", f"training.updates={updates}", f"training.target_tokens={_EPOCH_TOKENS}"]
    return {
        "prepare": ["prepare", text, "merges=8000", "-o", out],
        "train": ["train", text, f"run={out}", "preset=tiny", *settings, "--until", "translate"],
        "align": ["align", text, "--fast", "-o", out],
        "tune": ["tune", text, "--model", "multi", "training.updates=20", "-o", out],
        "lexicon": ["lexicon", text, "--links", links, "-o", out],
        "symmetrize": ["symmetrize", links, links, "-o", out],
        "evaluate": ["evaluate", links, links, "--gold-base", "0"],
    }[stage]


def measure(arguments: Sequence[str]) -> tuple[float, float]:
    """Run weft. Returns CPU seconds of all processes and the most megabytes that they held together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([sys.executable, "-m", "weft", *arguments], stdout=subprocess.DEVNULL)
    ended, most = threading.Event(), [0.0]

    def watch() -> None:
        while not ended.wait(0.3):
            most.append(megabytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    ended.set()
    watcher.join()
    if code:
        sys.exit(f"weft {' '.join(arguments)} ended with {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, max(most)


def plot(measured: Sequence[dict], path: str) -> None:
    """Draw CPU seconds and memory against pairs, and CPU seconds per pair against words."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for panel, by, value in ((axes[0], "pairs", "cpu_s"), (axes[1], "pairs", "megabytes"), (axes[2], "words", "cpu_s")):
        lines = sorted((one for one in measured if bool(one["words"]) == (by == "words")), key=lambda one: one["stage"])
        for stage, rows in groupby(lines, key=lambda one: one["stage"]):
            points = sorted((one[by], one[value] / (one["pairs"] / 1000 if by == "words" else 1)) for one in rows)
            panel.plot(*zip(*points, strict=True), marker="o", label=stage, color=f"C{STAGES.index(stage)}")
        if by == "pairs":
            panel.set(xscale="log", yscale="log" if value == "cpu_s" else "linear")
        panel.set_xlabel("source words of a pair" if by == "words" else "pairs")
        panel.grid(alpha=0.3)
    axes[0].set_title("CPU seconds")
    axes[1].set(title="peak memory, MB", ylim=0)
    axes[2].set(title="CPU seconds for 1,000 pairs", xlim=0, ylim=0)
    axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="parallel text with words between spaces")
    parser.add_argument("results", type=Path, help="file of JSON lines, to which results are added")
    parser.add_argument("--stages", nargs="+", default=STAGES, choices=STAGES)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 30_000, 100_000, 300_000])
    parser.add_argument("--words", nargs="+", type=int, default=[0])
    parser.add_argument("--plot", metavar="PICTURE", help="draw what has been measured, and measure nothing")
    options = parser.parse_args()
    if options.plot:
        plot([json.loads(line) for line in options.results.read_text().splitlines()], options.plot)
        return
    for words in options.words:
        for size in options.sizes:
            with tempfile.TemporaryDirectory() as folder:
                total, of_target = write_input(Path(folder), options.corpus, size, words)
                for stage in options.stages:
                    seconds, memory = measure(command(stage, Path(folder), of_target))
                    found = {"stage": stage, "pairs": size, "words": words, "all_words": total}
                    line = json.dumps(found | {"cpu_s": round(seconds, 2), "megabytes": round(memory)})
                    print(line, flush=True)
                    with options.results.open("a") as file:
                        file.write(f"{line}\n")


if __name__ == "__main__":
    main()
