"""Two languages without English: do the links agree with those by way of English?

    python benchmarks/without_english.py data/multi/es-en.tsv data/multi/ru-en.tsv --model multi

Both files hold pairs of a language with English (source TAB English). Where they share an English sentence, the two
other sentences are translations of each other. They are aligned, and so is each of them with the English one. Links
by way of English join words that are linked to the same English word. Prints how many of the direct links are among
those, how many of those are found directly, and the harmonic mean of both, with a sentence pair as an example.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable

import weft
from weft.text.reading import Corpus

Links = set[tuple[int, int]]


def by_way_of(first: Iterable[tuple[int, int]], second: Iterable[tuple[int, int]]) -> Links:
    """Return the links between words that are linked to the same word of a third sentence, named last in both."""
    partners = defaultdict(set)
    for word, english in second:
        partners[english].add(word)
    return {(word, partner) for word, english in first for partner in partners[english]}


def shared(first: str, second: str, most: int) -> list[tuple[str, str, str]]:
    """Return some sentences of both files that share their English sentence: first, second, English."""
    sentences: dict[str, str] = {}
    for block in Corpus((first,)).blocks():
        sentences |= {english: sentence for sentence, english in block.pairs()}
    found = [
        (sentences[english], sentence, english)
        for block in Corpus((second,)).blocks()
        for sentence, english in block.pairs()
        if english in sentences and len(english.split()) >= 5  # shorter ones are easy
    ]
    return random.Random(1).sample(found, min(most, len(found)))


def main() -> None:
    """Align the shared sentences of two files and print the agreement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=2_000)
    options = parser.parse_args()
    aligner = weft.load(options.model, raw=True)
    triples = shared(options.first, options.second, options.pairs)
    if not triples:
        raise SystemExit(f"{options.first} and {options.second} share no English sentence of five words or more")
    sides = zip(*(((one, two), (one, english), (two, english)) for one, two, english in triples), strict=True)
    direct, first, second = (list(aligner.align(pairs, skip_long=True)) for pairs in sides)
    both = wanted = found = 0
    for links, one, two in zip(direct, first, second, strict=True):
        expected = by_way_of(one.links, two.links)
        both, wanted, found = both + len(links.links & expected), wanted + len(expected), found + len(links.links)
    precision, recall = both / max(1, found), both / max(1, wanted)
    print(f"{len(triples):,} pairs; {100 * precision:.1f} % of the direct links are links by way of English, ", end="")
    print(f"{100 * recall:.1f} % of those are found directly; together {200 * both / max(1, found + wanted):.1f} %")
    example = min(direct, key=lambda alignment: abs(len(alignment.source.words) - 8))
    for source, target in sorted(example.links):
        print(f"  {example.source.words[source]} – {example.target.words[target]}")


if __name__ == "__main__":
    main()
