"""A stream of sentence pairs in, the same number of alignments out, in order: what all aligners share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from weft.align.alignment import Alignment
from weft.align.extract import WordLinks
from weft.text.pairs import EncodedPair, OnLong, encode_pairs
from weft.text.sentence import Text, sentence_pair
from weft.text.subwords import Subwords

Aligned = tuple[EncodedPair, WordLinks, float]
"""A pair, its links and its score."""


def align_stream(
    pairs: Iterable[tuple[Text, Text]],
    subwords: Subwords,
    tokenisation: str,
    align_encoded: Callable[[Iterable[EncodedPair]], Iterable[Aligned]],
    on_long: OnLong,
    ahead: int,
) -> Iterator[Alignment]:
    """Read ``ahead`` pairs at a time, have them aligned in whatever order suits, and give them back in theirs.

    Pairs with an empty side, and those that are too long where ``on_long`` returns, have no links.
    """
    iterator, seen = iter(pairs), 0
    while window := list(itertools.islice(iterator, ahead)):
        sentences = [sentence_pair(*pair, subwords.text, tokenisation) for pair in window]
        found = [Alignment(source, target) for source, target in sentences]
        words = [(source.words, target.words) for source, target in sentences]
        for pair, links, score in align_encoded(encode_pairs(words, subwords, seen, on_long)):
            found[pair.number] = Alignment(*sentences[pair.number], links, score)
        seen += len(window)
        yield from found
