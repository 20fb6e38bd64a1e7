"""Make links between words from the attention between their pieces.

Attention comes in both directions: each target piece j gives its own to source pieces i, forward(j, i), and each source
piece to target pieces, backward(j, i). The probability of a link between two words s and t is the mean of both
directions, each as the surest piece of its word has it:

    p(s, t) = ½ · max over j in t of Σ over i in s of forward(j, i)
            + ½ · max over i in s of Σ over j in t of backward(j, i)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from weft.align.symmetrisation import symmetrise
from weft.config import Merge
from weft.text.subwords import Pieces

SURE = 0.7  # a probability from which words need not compete
BESIDE = 0.6  # the part of the threshold that is enough beside a link
WordLinks = dict[tuple[int, int], float]
"""Links, source word first, in order, each with its probability."""


def linked_words(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return which words are linked, as a mask, given the probabilities (batch, target, source).

    What is nearly sure is a link. For the rest, words compete: two are linked if each is the other's most probable
    choice among those that are open to it. Words that have no link yet are open to each other from ``threshold`` on. So
    are a word that has no link and one that has, if their link would touch another one, for words of a phrase share
    their links; a part of ``threshold`` is enough if it would stand beside that link in its row or column. This is
    repeated until nothing is left to choose.
    """
    likely = (probability >= BESIDE * threshold) & (probability > 0)
    batch, target, source = probability.shape
    bordered = np.zeros((batch, target + 2, source + 2), bool)
    links, around = bordered[:, 1:-1, 1:-1], sliding_window_view(bordered, (3, 3), (1, 2))
    links[:] = (probability >= threshold) & (probability >= SURE)
    cells = rows, targets, sources = _places(likely & ~links)  # few compete, so they are listed
    strength = probability[cells]
    is_high = strength >= threshold
    targets, sources = rows * target + targets, rows * source + sources  # words of the batch
    linked_targets, linked_sources = links.any(2).ravel(), links.any(1).ravel()
    while True:
        of_target, of_source = linked_targets[targets], linked_sources[sources]
        near = around[cells]
        touches = near[:, 1].any(1) | near[:, :, 1].any(1) | (is_high & near.any((1, 2)))
        is_open = (is_high & ~(of_target | of_source)) | (touches & (of_target != of_source))
        left = np.where(is_open, strength, 0)
        chosen = is_open & (left == _greatest(left, targets)) & (left == _greatest(left, sources))
        if not chosen.any():
            return links
        links[tuple(place[chosen] for place in cells)] = True
        linked_targets[targets[chosen]] = linked_sources[sources[chosen]] = True


def _greatest(values: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return for each value the greatest one of the same word; no value is negative."""
    greatest = np.zeros(words.max(initial=0) + 1, values.dtype)
    np.maximum.at(greatest, words, values)
    return greatest[words]


class BatchWords:
    """The words of one side of a batch. A word may have several pieces, and a piece be part of several words."""

    def __init__(self, sentences: Sequence[Pieces], length: int) -> None:
        """Take the pieces of each sentence, in rows of ``length``."""
        self.pieces = np.array([len(pieces.ids) for pieces in sentences])  # (batch,)
        self.is_piece = np.arange(length) < self.pieces[:, None]  # (batch, length)
        rows, places = np.nonzero(self.is_piece)
        words = _joined([pieces.first for pieces in sentences])
        if any(pieces.last is not pieces.first for pieces in sentences):
            times = _joined([pieces.last for pieces in sentences]) - words + 1  # once for each word that it is part of
            rows, places, words = (np.repeat(values, times) for values in (rows, places, words))
            words += np.arange(len(words)) - np.repeat(np.cumsum(times) - times, times)
            order = np.lexsort((words, rows))
            rows, places, words = rows[order], places[order], words[order]
        self.words = int(words.max(initial=-1)) + 1
        flat, slots = rows * length + places, rows * self.words + words
        starts = np.flatnonzero(np.diff(slots, prepend=-1))  # of each word in its pieces, which follow each other
        rank = np.arange(len(slots)) - np.repeat(starts, np.diff(starts, append=len(slots)))
        order, ends = np.argsort(rank, kind="stable"), np.cumsum(np.bincount(rank))[:-1]
        self._by_rank = list(zip(np.split(slots[order], ends), np.split(flat[order], ends), strict=True))

    def summed(self, cells: np.ndarray) -> np.ndarray:
        """Return the sum over the pieces of each word. (batch, length, x) → (batch, words, x)"""
        return self._reduced(np.add, cells)

    def greatest(self, cells: np.ndarray) -> np.ndarray:
        """Return the greatest value among the pieces of each word. (batch, length, x) → (batch, words, x)"""
        return self._reduced(np.maximum, cells)

    def _reduced(self, function: np.ufunc, cells: np.ndarray) -> np.ndarray:
        """Begin with the first piece of all words, then add the second of those that have one, and so on."""
        pieces = cells.reshape(-1, cells.shape[2])
        found = np.zeros((len(cells) * self.words, cells.shape[2]), cells.dtype)
        for rank, (words, places) in enumerate(self._by_rank):
            values = pieces.take(places, 0)  # faster than pieces[places]
            found[words] = function(found.take(words, 0), values) if rank else values
        return found.reshape(len(cells), self.words, -1)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays).astype(np.int64)


@dataclass(frozen=True)
class BatchAttention:
    """The attention of a batch of sentence pairs, a pair a row, and the words that the pieces are part of."""

    forward: np.ndarray  # (batch, target, source), sums to one over source pieces
    backward: np.ndarray  # (batch, target, source), sums to one over target pieces
    source: BatchWords
    target: BatchWords

    @classmethod
    def of(
        cls, forward: np.ndarray, backward: np.ndarray, source: Sequence[Pieces], target: Sequence[Pieces]
    ) -> BatchAttention:
        """Build it from the pieces of each pair."""
        _, target_length, source_length = forward.shape
        return cls(forward, backward, BatchWords(source, source_length), BatchWords(target, target_length))

    @cached_property
    def probability(self) -> np.ndarray:
        """The probability of each link. (batch, target words, source words)"""
        forward = self.target.greatest(_turned(self.source.summed(_turned(self.forward))))
        backward = self.source.greatest(_turned(self.target.summed(self.backward)))
        return np.minimum((forward + _turned(backward)) / 2, 1)  # rounding may have led beyond 1

    @cached_property
    def _pieces(self) -> np.ndarray:
        """True for cells between two pieces. (batch, target, source)"""
        return self.target.is_piece[:, :, None] & self.source.is_piece[:, None, :]

    def scores(self) -> list[float]:
        """Return how well the sentences of each pair fit: the strongest cell of each piece, mean over both sides."""
        strength = (self.forward + self.backward) * self._pieces
        best = (_summed(strength.max(1)) + _summed(strength.max(2))) / 2
        return (best / np.maximum(self.source.pieces + self.target.pieces, 1)).tolist()

    def links(self, merge: Merge, threshold: float = 0.0) -> list[WordLinks]:
        """Return the links of each pair; ``threshold`` is for the merge ``mean``.

        For all other merges, links are found between pieces, and two words are linked if any two of their pieces are.
        """
        if merge == "mean":
            return self._listed(linked_words(self.probability, threshold))
        if merge == "best-cells":
            return self._between_words(self._best_cells())
        if merge == "forward":
            return self._between_words(_best(self.forward, 2) & self._pieces)
        if merge == "backward":
            return self._between_words(_best(self.backward, 1) & self._pieces)
        found = []
        for forward, backward in zip(self.links("forward"), self.links("backward"), strict=True):
            both = forward | backward
            merged = symmetrise(frozenset(forward), frozenset(backward), merge)
            found.append({link: both[link] for link in sorted(merged)})
        return found

    def _best_cells(self) -> np.ndarray:
        """Return the min(n, m) strongest cells of A_F ⊗ A_B for n and m pieces. (batch, target, source)"""
        product = np.where(self._pieces, self.forward * self.backward, -1.0)
        order = np.argsort(-product.reshape(len(product), -1), axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
        wanted = np.minimum(self.source.pieces, self.target.pieces)
        return rank.reshape(product.shape) < wanted[:, None, None]

    def _between_words(self, cells: np.ndarray) -> list[WordLinks]:
        """Return the links between words that linked cells between pieces make."""
        return self._listed(self.target.greatest(_turned(self.source.greatest(_turned(cells)))))

    def _listed(self, linked: np.ndarray) -> list[WordLinks]:
        """Return links as a list of each pair, given a mask (batch, target words, source words)."""
        rows, sources, targets = _places(_turned(linked))
        probabilities = self.probability[rows, targets, sources]
        found: list[WordLinks] = [{} for _ in linked]
        links = zip(rows.tolist(), sources.tolist(), targets.tolist(), probabilities.tolist(), strict=True)
        for row, source, target, probability in links:
            found[row][source, target] = probability
        return found


def _places(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what np.nonzero does, which takes longer."""
    return np.unravel_index(np.flatnonzero(mask), mask.shape)


def _summed(rows: np.ndarray) -> np.ndarray:
    """Return the sum of each row, added up from left to right: so padding changes no bit, as it may with np.sum."""
    return np.cumsum(rows, 1)[:, -1]


def _turned(cells: np.ndarray) -> np.ndarray:
    """Return matrices whose rows are the columns of others. (batch, x, y) → (batch, y, x)"""
    return cells.transpose(0, 2, 1)


def _best(attention: np.ndarray, axis: int) -> np.ndarray:
    """Return the strongest cell along an axis, the first of equals. (batch, target, source)"""
    best = np.zeros(attention.shape, bool)
    np.put_along_axis(best, attention.argmax(axis, keepdims=True), True, axis)
    return best
