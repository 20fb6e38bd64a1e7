"""What all aligners share: a stream of sentence pairs in, the same number of alignments out, in order."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.align.alignment import Alignment
from weft.align.attention_to_links import WordLinks
from weft.config import MOST_PIECES, Merge
from weft.errors import WeftError
from weft.text.subwords import Pieces, Subwords
from weft.text.words import Text, sentence_pair

WordPair = tuple[list[str], list[str]]
OnLong = Callable[[int, int], None]
"""Called with the index of a pair that is too long and its number of pieces."""


class EncodedPair(NamedTuple):
    """A sentence pair in pieces."""

    number: int  # in its window
    source: Pieces
    target: Pieces


class Aligned(NamedTuple):
    """What was found for a pair."""

    pair: EncodedPair
    links: WordLinks
    score: float


class WindowedAligner(ABC):
    """Reads a window of pairs ahead, so that pairs of similar length share a batch."""

    def __init__(self, subwords: Subwords, merge: Merge, threshold: float, raw: bool, ahead: int) -> None:
        self.subwords = subwords
        self.merge: Merge = merge
        self.threshold = threshold
        self.tokenisation = "simple" if raw else subwords.text.tokenisation
        self._ahead = ahead

    @abstractmethod
    def _align_encoded(self, encoded: Iterable[EncodedPair]) -> Iterable[Aligned]:
        """Align the pairs of a window, in any order."""

    def align(
        self, pairs: Iterable[tuple[Text, Text]], on_long: OnLong | None = None, ahead: int = 0
    ) -> Iterator[Alignment]:
        """Align sentence pairs; a side is text or a list of words. Yields an alignment for each pair, in order.

        Reads ``ahead`` pairs at a time (0: as many as suit the aligner; 1: each is answered before the next is read).
        A pair that is too long raises WeftError, or has no links if ``on_long`` is given and returns.
        """
        iterator, seen = iter(pairs), 0
        while window := list(itertools.islice(iterator, ahead or self._ahead)):
            sentences = [sentence_pair(*pair, self.subwords.text, self.tokenisation) for pair in window]
            alignments = [Alignment(source, target) for source, target in sentences]  # without links
            words = [(source.words, target.words) for source, target in sentences]
            for pair, links, score in self._align_encoded(encode_pairs(words, self.subwords, seen, on_long)):
                alignments[pair.number] = Alignment(*sentences[pair.number], links, score)
            seen += len(window)
            yield from alignments


def encode_pairs(
    pairs: Sequence[WordPair], subwords: Subwords, first: int = 0, on_long: OnLong | None = None
) -> Iterator[EncodedPair]:
    """Cut the words of pairs into pieces. Yields all pairs but those with an empty side and those that are too long.

    ``first`` is the index of the first pair in the whole stream, for ``on_long`` and errors.
    """
    for number, (source, target) in enumerate(pairs):
        sides = subwords.encode(source), subwords.encode(target)
        longest = max(len(side.ids) for side in sides)
        if longest <= MOST_PIECES:
            if all(side.ids for side in sides):
                yield EncodedPair(number, *sides)
        elif on_long is not None:
            on_long(first + number, longest)
        else:
            raise WeftError(f"sentence pair {first + number + 1}: {describe_too_long(longest)}")


def describe_too_long(pieces: int) -> str:
    """Return what to tell the user about a sentence that no model can take."""
    return f"a sentence of {pieces:,} pieces, but the model's limit is {MOST_PIECES:,}; split it"
