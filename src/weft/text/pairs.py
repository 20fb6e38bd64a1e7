"""Sentence pairs as words and as pieces, as aligners take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.text.subwords import Pieces, Subwords

MOST_PIECES = 1_023  # of a sentence
WordPair = tuple[list[str], list[str]]


class EncodedPair(NamedTuple):
    number: int  # among the pairs given
    source: Pieces
    target: Pieces


def encode_pairs(pairs: Sequence[WordPair], subwords: Subwords) -> Iterator[EncodedPair]:
    """All pairs but those with an empty side, which have no links."""
    for number, (source, target) in enumerate(pairs):
        sides = subwords.encode(source), subwords.encode(target)
        longest = max(len(side.ids) for side in sides)
        if longest > MOST_PIECES:
            raise WeftError(
                f"sentence pair {number + 1} has a side of {longest:,} pieces, but the model's limit is "
                f"{MOST_PIECES:,}; split it"
            )
        if all(side.ids for side in sides):
            yield EncodedPair(number, *sides)
