"""Alignments of words, with given links, as the tests of lexicons need them."""

from __future__ import annotations

from weft.align.alignment import Alignment
from weft.text.words import Sentence


def aligned(source: str, target: str, links: str, raw: bool = False) -> Alignment:
    """An alignment with links such as ``0-0 1-2:0.5``; without a probability they are sure."""
    found = {}
    for link in links.split():
        words, _, probability = link.partition(":")
        first, _, second = words.partition("-")
        found[int(first), int(second)] = float(probability or 1)
    return Alignment(Sentence.from_text(source, raw), Sentence.from_text(target, raw), found)
