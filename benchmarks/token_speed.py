"""What links between the tokens of other programs cost beside aligning.

    python benchmarks/token_speed.py pairs.tsv --languages fr en --pieces 8000

The text is raw. One process aligns it block by block and, after each block, finds the places of the words, which all
kinds need, and then for each kind finds tokens, makes their links and formats them: all have the same neighbours on a
busy machine. The SentencePiece model is learned from the text itself. Prints a JSON line for each: seconds of the
processor, also as a part of those that aligning took.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import tempfile
import time
from pathlib import Path

import sentencepiece as library

import weft
from weft.apply.tokens import Tokenizer, icu, moses, retokenised, sentencepiece, spaces

_BLOCK = 1_000


def learned(sentences: list[str], pieces: int, folder: str) -> Tokenizer:
    """A SentencePiece model of these sentences."""
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_prefix=f"{folder}/learned", vocab_size=pieces, minloglevel=2
    )
    return sentencepiece(f"{folder}/learned.model")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="TSV")
    parser.add_argument("--languages", nargs=2, required=True)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--pieces", type=int, default=8_000)
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()

    with arguments.text.open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in itertools.islice(file, arguments.pairs)]
    pairs = [(source, target) for source, target in rows]
    with tempfile.TemporaryDirectory() as folder:
        subwords = learned([side for pair in pairs for side in pair], arguments.pieces, folder)
    first, second = arguments.languages
    kinds: dict[str, tuple[Tokenizer, Tokenizer]] = {
        "spm": (subwords, subwords),
        "spaces": (spaces, spaces),
        "icu": (icu(first), icu(second)),
        "moses": (moses(first), moses(second)),
    }
    gc.set_threshold(100_000)  # as the command does
    aligner = weft.load(raw=True, cores=1, fast=arguments.fast)
    seconds, links = dict.fromkeys(["words", "places", *kinds], 0.0), dict.fromkeys(kinds, 0)
    for block in range(0, len(pairs), _BLOCK):
        began = time.process_time()
        alignments = list(aligner.align(pairs[block : block + _BLOCK], skip_long=True))
        for alignment in alignments:
            str(alignment)
        seconds["words"] += time.process_time() - began
        began = time.process_time()
        for alignment in alignments:
            len(alignment.source.spans) + len(alignment.target.spans)
        seconds["places"] += time.process_time() - began
        for kind, (of_source, of_target) in kinds.items():
            began = time.process_time()
            for alignment in alignments:
                tokens = of_source(alignment.source.text), of_target(alignment.target.text)
                links[kind] += len(str(retokenised(alignment, *tokens)).split())
            seconds[kind] += time.process_time() - began
    for name, time_taken in seconds.items():
        figures = {"seconds": round(time_taken, 1), "times_aligning": round(time_taken / seconds["words"], 3)}
        more = {"links_per_pair": round(links[name] / len(pairs), 1)} if name in links else {}
        print(json.dumps({"what": name, **figures, **more}))


if __name__ == "__main__":
    main()
