"""Sentence pairs as words and as pieces, as aligners take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.text.subwords import Pieces, Subwords

MOST_PIECES = 1_023  # of a sentence
WordPair = tuple[list[str], list[str]]
OnLong = Callable[[int, int], None]
"""Is told the number of a sentence pair that is too long, and of its pieces."""


class EncodedPair(NamedTuple):
    number: int  # among the pairs given
    source: Pieces
    target: Pieces


def too_long(number: int, pieces: int) -> None:
    """What is done about a pair that no model can take, unless somebody knows better."""
    raise WeftError(f"sentence pair {number + 1}: {describe_too_long(pieces)}")


def describe_too_long(pieces: int) -> str:
    return f"a sentence of {pieces:,} pieces, but the model's limit is {MOST_PIECES:,}; split it"


def encode_pairs(
    pairs: Sequence[WordPair], subwords: Subwords, first: int = 0, on_long: OnLong = too_long
) -> Iterator[EncodedPair]:
    """All pairs but those with an empty side, which have no links, and those that are too long.

    ``first`` is the number that the first pair has for ``on_long``.
    """
    for number, (source, target) in enumerate(pairs):
        sides = subwords.encode(source), subwords.encode(target)
        longest = max(len(side.ids) for side in sides)
        if longest > MOST_PIECES:
            on_long(first + number, longest)
        elif all(side.ids for side in sides):
            yield EncodedPair(number, *sides)
