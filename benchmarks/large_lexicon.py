"""A lexicon of ten million pairs: memory that does not grow with the text.

    python benchmarks/large_lexicon.py FOLDER --pairs 10000000

Makes sentence pairs and their links in FOLDER, which needs 40 GB, and a lexicon of them with ``weft lexicon --links``,
watching the memory of all its processes. Phrases of one to three words are drawn by Zipf's law from four million, their
words from six million; every third pair has a word of its own; one word in ten has no link, neighbours change places.
Prints JSON. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from process_memory import megabytes

_PHRASES, _WORDS = 4_000_000, 6_000_000
_BLOCK = 20_000


def ranks(uniform: np.ndarray, most: int) -> np.ndarray:
    """Numbers from 1 to ``most``, each as probable as its inverse."""
    return np.exp(uniform * np.log(most)).astype(np.int64)


def made_pairs(count: int) -> Iterator[tuple[str, str]]:
    """Lines of text and of links."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, 4, _PHRASES + 1)
    words = ranks(generator.random((_PHRASES + 1, 3)), _WORDS)
    for first in range(0, count, _BLOCK):
        chosen = ranks(generator.random((_BLOCK, 10)), _PHRASES)
        linked = generator.random((_BLOCK, 30)) > 0.1
        swapped = generator.random((_BLOCK, 30)) < 0.15
        for row in range(min(_BLOCK, count - first)):
            number = first + row
            source = [word for phrase in chosen[row] for word in words[phrase, : lengths[phrase]].tolist()]
            order = list(range(len(source)))
            for place in range(len(order) - 1):
                if swapped[row, place]:
                    order[place : place + 2] = order[place + 1], order[place]
            links = [f"{word}-{place}" for place, word in enumerate(order) if linked[row, word]]
            sides = [f"s{word:x}" for word in source], [f"t{source[word]:x}" for word in order]
            if number % 3 == 0:
                links.append(f"{len(source)}-{len(source)}")
                for side in sides:
                    side.append(f"own{number}")
            yield "\t".join(" ".join(side) for side in sides), " ".join(links)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    arguments = parser.parse_args()
    text, links, lexicon = (arguments.folder / name for name in ("text.tsv", "links", "lexicon"))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with text.open("w") as text_file, links.open("w") as links_file:
        for pair, line in made_pairs(arguments.pairs):
            text_file.write(f"{pair}\n")
            links_file.write(f"{line}\n")

    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", "lexicon", str(text), "--links", str(links), "-o", str(lexicon)]
    )
    held, disk = [0.0], [0]

    def watch() -> None:
        while process.poll() is None:
            held.append(megabytes(process.pid))
            files = [path for path in arguments.folder.glob("lexicon.partial/**/*") if path.is_file()]
            disk.append(sum(path.stat().st_size for path in files if path.exists()))
            time.sleep(1)

    thread = threading.Thread(target=watch)
    thread.start()
    if process.wait():
        sys.exit("weft lexicon has failed")
    thread.join()
    sizes = {path.name: path.stat().st_size for path in sorted(lexicon.iterdir())}
    result = {
        "pairs": arguments.pairs,
        "text_mb": round(text.stat().st_size / 1e6),
        "seconds": round(time.perf_counter() - began),
        "memory_mb": round(max(held)),
        "temporary_mb": round(max(disk) / 1e6),
        "files_mb": {name: round(size / 1e6) for name, size in sizes.items()},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
