"""Alignments as lines of text: one way to write them down for each kind of user.

| format | for "das Haus" and "the house" |
|---|---|
| pharaoh | ``0-0 1-1`` |
| probabilities | ``0-0:0.972 1-1:0.988`` |
| words | ``das|the Haus|house`` |
| giza | three lines, as GIZA++ writes its A3 files |
| jsonl | an object with text, words, offsets, links, probabilities and the score of the pair |
| html | a page to look at |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from weft.align.alignment import Alignment
from weft.align.html import section
from weft.text.sentence import Sentence

Format = Literal["pharaoh", "probabilities", "words", "giza", "jsonl", "html"]


def formatted(alignments: Iterable[Alignment], form: Format, first: int = 1) -> Iterator[str]:
    """Text for each alignment, line ends included; ``first`` is the number of the first one."""
    for number, alignment in enumerate(alignments, first):
        yield _one(alignment, form, number)


def _one(alignment: Alignment, form: Format, number: int) -> str:
    if form == "pharaoh":
        return f"{alignment}\n"
    if form == "probabilities":
        links = alignment.probabilities.items()
        return " ".join(f"{source}-{target}:{probability:.3f}" for (source, target), probability in links) + "\n"
    if form == "words":
        source, target = alignment.source.words, alignment.target.words
        return " ".join(f"{source[i]}|{target[j]}" for i, j in alignment.probabilities) + "\n"
    if form == "giza":
        return _giza(alignment, number)
    if form == "jsonl":
        return json.dumps(_plain(alignment), ensure_ascii=False) + "\n"
    return section(alignment, number)


def _giza(alignment: Alignment, number: int) -> str:
    """A header, the target sentence, and each source word with the target words it is linked to, counted from one."""
    source, target = alignment.source.words, alignment.target.words
    head = f"# Sentence pair ({number}) source length {len(source)} target length {len(target)}"
    linked: list[list[int]] = [[] for _ in source]
    for i, j in sorted(alignment.probabilities):
        linked[i].append(j + 1)
    words = [("NULL", [j + 1 for j in alignment.unaligned("target")]), *zip(source, linked, strict=True)]
    shown = " ".join(f"{word} ({{ {''.join(f'{place} ' for place in places)}}})" for word, places in words)
    return f"{head} alignment score : {alignment.score:.6g}\n{' '.join(target)}\n{shown}\n"


def _plain(alignment: Alignment) -> dict[str, Any]:
    def side(sentence: Sentence) -> dict[str, Any]:
        return {"text": sentence.text, "words": sentence.words, "offsets": sentence.spans}

    links = [[i, j, round(probability, 4)] for (i, j), probability in alignment.probabilities.items()]
    score = round(alignment.score, 4)
    return {"source": side(alignment.source), "target": side(alignment.target), "links": links, "score": score}
