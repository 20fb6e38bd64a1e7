"""Tags moved onto translations: how many are where human translators have put them?

    python benchmarks/tag_placement.py ende_en_dev.json ende_de_dev.json OUT --tag-handling xml --ids even
    python benchmarks/tag_placement.py test-eurlex.en test-eurlex.de OUT --tag-handling xliff
    evaluate-markup-tags OUT/reference OUT/hypothesis

The two files have the same tagged segments in both languages, a line each, or the JSON of
github.com/salesforce/localization-xml-mt; lines are those of github.com/amazon-science/mt-markup-tags; the scorer is
github.com/lilt/markup-tag-evaluation. None of them is part of weft. References lose their tags and get those of the
source by ``weft.apply.markup_transfer``.

To compare another aligner with the same words and the same placement: ``OUT/words.tsv`` has the words of the tagged
segments, lower-cased, and ``--links FILE`` reads links of these lines instead of aligning.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import weft
from weft.apply.markup import Marked, TagHandling, parse_markup
from weft.apply.markup_transfer import sentences_to_place, with_markup
from weft.apply.word_parts import standing_apart
from weft.links import Links, read_links
from weft.text.words import Sentence


def read_segments(path: Path, ids: str) -> list[str]:
    """Return the segments of a file; of JSON, those with odd or even numbers if only these are wanted."""
    if path.suffix != ".json":
        return path.read_text(encoding="utf-8").splitlines()
    texts = json.loads(path.read_text(encoding="utf-8"))["text"]
    return [text for key, text in texts.items() if ids == "all" or (int(key[-1]) % 2 == 1) == (ids == "odd")]


def linked(sentences: tuple[Sentence, Sentence], links: Links) -> np.ndarray:
    """Return the probabilities that links of another aligner stand for. (source words, target words)"""
    matrix = np.zeros((len(sentences[0]), len(sentences[1])), np.float32)
    for link in links if matrix.size else ():  # a segment may have no words
        matrix[link] = 1
    return matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="multi")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--tag-handling", choices=("html", "xml", "xliff"), default="xml")
    parser.add_argument("--ids", choices=("all", "odd", "even"), default="all")
    parser.add_argument("--links", help="links of OUT/words.tsv by another aligner")
    arguments = parser.parse_args()
    handling: TagHandling = arguments.tag_handling
    files = (read_segments(path, arguments.ids) for path in (arguments.source, arguments.reference))
    tagged = [pair for pair in zip(*files, strict=True) if parse_markup(pair[0], handling).elements]
    segments = []
    for source, reference in tagged:
        target = parse_markup(reference, handling)
        segments.append((parse_markup(source, handling), Marked(target.text, (), target.written, target.places)))
    pairs = [sentences_to_place(source, target) for source, target in segments]
    if arguments.links:
        found = (linked(pair, line.possible) for pair, line in zip(pairs, read_links(arguments.links), strict=True))
    else:
        aligner = weft.load(arguments.model, fast=arguments.fast)
        apart = [(standing_apart(source), standing_apart(target)) for source, target in pairs]
        found = (alignment.matrix for alignment in aligner.align(apart, skip_long=True, matrices=True))
    hypotheses = [
        with_markup(*segment, pair, matrix) for segment, pair, matrix in zip(segments, pairs, found, strict=True)
    ]
    arguments.output.mkdir(parents=True, exist_ok=True)
    lines = {
        "words.tsv": [f"{' '.join(source.words)}\t{' '.join(target.words)}".lower() for source, target in pairs],
        "reference": [reference for _, reference in tagged],
        "hypothesis": hypotheses,
    }
    for name, content in lines.items():
        (arguments.output / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")


if __name__ == "__main__":
    main()
