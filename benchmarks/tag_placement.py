"""Tags placed by links: how many are where human translators of software documentation have put them?

    python benchmarks/tag_placement.py localization-xml-mt/data/ende OUT --model multi
    evaluate-markup-tags OUT/reference OUT/hypothesis

The data is github.com/salesforce/localization-xml-mt (NAME_en_dev.json and NAME_XX_dev.json of a language pair), the
scorer github.com/lilt/markup-tag-evaluation; neither is part of weft. Tagged segments are stripped of their tags and
aligned; each element is then put around the words from the first to the last that are linked to its words (min-max).
An element without links goes where it would be if both sentences had the same length.

To compare another aligner with the same words and the same placement: ``OUT/words.tsv`` has the words of the tagged
segments, lower-cased, and ``--links FILE`` reads links of these lines instead of aligning.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path

import weft
from weft.align.alignment import Alignment
from weft.links import read_links

_TAG = re.compile(r"<(/?)([^<>\s]*)[^<>]*>")


@dataclass(frozen=True)
class Element:
    """Two tags, and the places in the text without tags that they have between them."""

    opening: str
    closing: str
    start: int
    end: int


def strip_tags(tagged: str) -> tuple[str, list[Element]]:
    """Return the text without tags, and its elements, inner ones first."""
    text, last, elements = "", 0, []
    opened: list[tuple[str, int]] = []  # tags that wait for their partner, and their places
    for match in _TAG.finditer(tagged):
        text += tagged[last : match.start()]
        last = match.end()
        if match[1]:
            opening, start = opened.pop()
            elements.append(Element(opening, match[0], start, len(text)))
        else:
            opened.append((match[0], len(text)))
    return text + tagged[last:], elements


def place(alignment: Alignment, elements: list[Element]) -> str:
    """Return the target sentence with the elements of the source sentence."""
    text = alignment.target.text
    scale = len(text) / max(1, len(alignment.source.text))
    marks: list[tuple[int, int, str]] = []  # place, rank among the tags of one place, tag
    for rank, element in enumerate(elements, 1):
        span = alignment.map_span(element.start, element.end)
        start, end = span or (round(element.start * scale), round(element.end * scale))
        # Outer elements open first and close last; what closes comes before what opens.
        marks += [(start, 2 * len(elements) - rank, element.opening), (end, rank, element.closing)]
    result, last = "", 0
    for position, _, tag in sorted(marks):
        result += text[last:position] + tag
        last = position
    return result + text[last:]


def tagged_segments(folder: Path) -> list[tuple[str, str]]:
    """Read the segments of a language pair that have tags, English first."""
    files = sorted(folder.glob("*_dev.json"), key=lambda path: "_en_" not in path.name)
    english, other = (json.loads(path.read_text(encoding="utf-8"))["text"] for path in files)
    return [(english[key], other[key]) for key in english if _TAG.search(english[key])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--reverse", action="store_true", help="the model's target language is English")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--links", help="links of OUT/words.tsv by another aligner")
    arguments = parser.parse_args()
    segments = tagged_segments(arguments.data)
    aligner = weft.load(arguments.model, raw=True, reverse=arguments.reverse, fast=arguments.fast)
    alignments = list(aligner.align((strip_tags(source)[0], strip_tags(target)[0]) for source, target in segments))
    if arguments.links:
        alignments = [
            Alignment(one.source, one.target, dict.fromkeys(sorted(line.possible), 1.0))
            for one, line in zip(alignments, read_links(arguments.links), strict=True)
        ]
    arguments.output.mkdir(parents=True, exist_ok=True)
    lines = {
        "words.tsv": [f"{' '.join(one.source.words)}\t{' '.join(one.target.words)}".lower() for one in alignments],
        "reference": [target for _, target in segments],
        "hypothesis": [
            place(one, strip_tags(source)[1]) for one, (source, _) in zip(alignments, segments, strict=True)
        ],
    }
    for name, content in lines.items():
        (arguments.output / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")


if __name__ == "__main__":
    main()
