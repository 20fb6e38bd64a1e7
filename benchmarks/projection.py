"""Labels carried over to translations: how many are where people have put them, and how fast is it?

    python benchmarks/projection.py SOURCE GOLD [OTHER …] [--column N] [--fast]

SOURCE has the labels of sentences, GOLD those of their translations, OTHER what other tools have made of SOURCE: all
of them tokens with IOB tags in column N. Prints precision, recall and F1 of spans, which count if their borders and
their label are right, for weft, for weft's links alone (from the first to the last word that is linked to the span),
and for the others. Then how many sentences with labels are projected in a second, and how many of the same are aligned
in a second, alternately and in this process.

Data that is public: github.com/ikergarcia1996/Easy-Label-Projection (data/absa_datasets: original/en,
manual_projections, automatic_projections) and github.com/ixa-ehu/ner-evaluation-corpus-europarl.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import weft
from weft.apply.projection import Label, Labelled, project
from weft.apply.tagged_tokens import tagged_spans, token_labels
from weft.text.words import Sentence

Labels = list[list[Label]]
"""Of each sentence."""


def read(path: Path, column: int) -> Iterator[tuple[Sentence, list[Label]]]:
    """Yield the sentences of a file with their labels."""
    for block in path.read_text(encoding="utf-8").replace("\r", "").strip().split("\n\n"):
        rows = [line.split("\t") if "\t" in line else line.split(" ") for line in block.strip("\n").split("\n")]
        sentence = Sentence.from_words([row[0] for row in rows])
        yield sentence, token_labels(sentence, tagged_spans(row[column - 1] for row in rows), "")


def scores(gold: Labels, found: Labels) -> str:
    """Return precision, recall and F1 in percent."""
    right = sum(len(set(one) & set(other)) for one, other in zip(gold, found, strict=True))
    precision, recall = right / max(1, sum(map(len, found))), right / max(1, sum(map(len, gold)))
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return f"precision {100 * precision:.1f}  recall {100 * recall:.1f}  F1 {100 * f1:.1f}"


def by_links(aligner: weft.Aligner, sentences: list[Labelled]) -> Iterator[list[Label]]:
    """Yield labels from the first to the last linked word."""
    pairs = ((one.source, one.target) for one in sentences)
    for one, alignment in zip(sentences, aligner.align(pairs), strict=True):
        spans = [(label, alignment.map_span(label.start, label.end)) for label in one.labels]
        yield [label._replace(start=span[0], end=span[1]) for label, span in spans if span]


def speed(function: Callable[[], Iterable[Any]], size: int) -> float:
    """Return how many of so many sentences a function does in a second."""
    began = time.perf_counter()
    for _ in function():
        pass
    return size / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("others", type=Path, nargs="*")
    parser.add_argument("--column", type=int, default=2)
    parser.add_argument("--model")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts")
    arguments = parser.parse_args()
    source, gold = (list(read(path, arguments.column)) for path in (arguments.source, arguments.gold))
    right = [labels for _, labels in gold]
    sentences = [
        Labelled(one.words, labels, other.words) for (one, labels), (other, _) in zip(source, gold, strict=True)
    ]
    aligner = weft.load(arguments.model, fast=arguments.fast)
    print(f"{len(gold):,} sentences, {sum(map(len, right)):,} spans")
    print("weft       ", scores(right, [one.labels for one in project(aligner, sentences)]))
    print("its links  ", scores(right, list(by_links(aligner, sentences))))
    for path in arguments.others:
        print(scores(right, [labels for _, labels in read(path, arguments.column)]), path.name, sep="  ")
    labelled = [one for one in sentences if one.labels]
    pairs = [(one.source, one.target) for one in labelled]
    runs = {"projected": lambda: project(aligner, labelled), "aligned": lambda: aligner.align(pairs)}
    best = dict.fromkeys(runs, 0.0)
    for _ in range(arguments.rounds):
        for name, run in runs.items():
            best[name] = max(best[name], speed(run, len(labelled)))
    figures = ", ".join(f"{rate:,.0f} {name}" for name, rate in best.items())
    print(f"{len(labelled):,} sentences with labels: {figures} a second")


if __name__ == "__main__":
    main()
