"""Segments per second of markup transfer, beside aligning the same text without markup.

    python benchmarks/transfer_speed.py tagged.tsv --tag-handling xliff

``tagged.tsv`` has lines of source with markup TAB target, with or without. Both run in one process on one core, in
turns; each counts as fast as in its fastest round, in time of the processor, so that other work on the machine counts
little. Prints a JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

from weft.align.onnx_aligner import Aligner
from weft.apply.markup import TagHandling, parse_markup
from weft.apply.markup_transfer import transfer


def seconds(work: Callable[[], Iterable[object]]) -> float:
    began = time.process_time()
    for _ in work():
        pass
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("segments", type=Path)
    parser.add_argument("--tag-handling", choices=get_args(TagHandling), default="html")
    parser.add_argument("--model")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--most", type=int, default=2_000, help="segments")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    lines = arguments.segments.read_text(encoding="utf-8").splitlines()[: arguments.most]
    pairs = [(source, target) for source, target in (line.split("\t") for line in lines)]
    handling: TagHandling = arguments.tag_handling
    parsed = [tuple(parse_markup(side, handling) for side in pair) for pair in pairs]
    plain = [(source.text, target.text) for source, target in parsed]
    with Aligner(arguments.model, cores=1, raw=True, fast=arguments.fast) as aligner:
        rounds = [
            (
                seconds(lambda: aligner.align(plain, skip_long=True)),
                seconds(lambda: transfer(aligner, pairs, handling)),
            )
            for _ in range(arguments.rounds)
        ]
    aligning, transferring = map(min, zip(*rounds, strict=True))
    figures = {
        "segments": len(pairs),
        "with_markup": sum(bool(source.elements) for source, _ in parsed),
        "aligned_per_second": round(len(pairs) / aligning),
        "transferred_per_second": round(len(pairs) / transferring),
        "transfer_takes": round(transferring / aligning, 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
