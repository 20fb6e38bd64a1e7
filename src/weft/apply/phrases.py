"""Stretches of words that are translations of each other, found in many sentence pairs at once.

Two stretches belong together if links lead from the words of each to those of the other and to no others (Och and Ney's
phrase pairs). Words without links may be inside, but neither first nor last; so a stretch has one translation at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FAR = np.iinfo(np.int64).max
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that different keys stay different


class Stretches(NamedTuple):
    """Stretches of the words of one side, which are counted through all its sentences."""

    first: np.ndarray  # (stretches,)
    words: np.ndarray  # how many each has

    def chosen(self, which: np.ndarray) -> Stretches:
        """Return some of them, given a mask or places."""
        return Stretches(self.first[which], self.words[which])

    def keys(self, word_keys: np.ndarray) -> np.ndarray:
        """Return a key for each stretch, made of those of its words, which are given for all words of the side."""
        keys = np.zeros(len(self.first), np.uint64)
        for place in range(int(self.words.max(initial=0))):
            inside = place < self.words
            keys[inside] = joined_keys(keys[inside], word_keys[self.first[inside] + place])
        return keys

    def least(self, values: np.ndarray) -> np.ndarray:
        """Return the least value among the words of each stretch, given those of all words of the side."""
        found = values[self.first]
        for place in range(1, int(self.words.max(initial=0))):
            inside = place < self.words
            found[inside] = np.minimum(found[inside], values[self.first[inside] + place])
        return found


def joined_keys(keys: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return keys for what two keys each stand for, in this order; numbers of 64 bits may overflow."""
    return keys * _FACTOR + more


def phrase_pairs(
    links: np.ndarray, source_lengths: np.ndarray, target_lengths: np.ndarray, longest: int
) -> tuple[Stretches, Stretches]:
    """Return all pairs of stretches of at most ``longest`` words, given the numbers of words of all sentences.

    ``links`` (links, 2) are between words, counted through all sentences of each side.
    """
    sources, targets = links.T
    source = _Side(sources, targets, source_lengths, longest)
    target = _Side(targets, sources, target_lengths, longest)
    found = []
    for words in range(1, longest + 1):
        first = source.begins(words)
        start, end = source.low[words - 1, first], source.high[words - 1, first]
        is_short = end - start < longest
        first, start, more = first[is_short], start[is_short], (end - start)[is_short]
        is_closed = (target.low[more, start] >= first) & (target.high[more, start] < first + words)
        first, start, more = first[is_closed], start[is_closed], more[is_closed]
        found.append((first, np.full(len(first), words), start, more + 1))
    first, words, start, others = map(np.concatenate, zip(*found, strict=True))
    return Stretches(first, words), Stretches(start, others)


class _Side:
    """What the words of one side are linked to."""

    def __init__(self, own: np.ndarray, other: np.ndarray, lengths: np.ndarray, longest: int) -> None:
        words = int(lengths.sum())
        low, high = np.full(words, _FAR), np.full(words, -1)
        np.minimum.at(low, own, other)
        np.maximum.at(high, own, other)
        self._is_linked = high >= 0
        self._end = np.repeat(np.cumsum(lengths), lengths)  # of the sentence of each word
        # The first and the last word that is linked to each stretch of one word, of two … (longest, words)
        self.low, self.high = _running(np.minimum, low, longest), _running(np.maximum, high, longest)

    def begins(self, words: int) -> np.ndarray:
        """Return the first words of all stretches of so many words whose first and last words are linked."""
        first = np.flatnonzero(self._is_linked)
        first = first[first + words <= self._end[first]]
        return first[self._is_linked[first + words - 1]]


def _running(function: np.ufunc, values: np.ndarray, longest: int) -> np.ndarray:
    """Return ``function`` of each value and those after it, for one value, two … (longest, values)"""
    found = np.tile(values, (longest, 1))
    for more in range(1, min(longest, len(values))):
        found[more, :-more] = function(found[more - 1, :-more], values[more:])
    return found
