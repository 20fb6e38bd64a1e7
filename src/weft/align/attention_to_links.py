"""Make links between words from the attention between their pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from weft.align.symmetrisation import symmetrise
from weft.config import Merge
from weft.text.subwords import Pieces

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", np.ndarray, "Tensor")
WordLinks = dict[tuple[int, int], float]
"""Links, source word first, in order, each with its probability."""


def linked_cells(strength: Array, threshold: float) -> Array:
    """Return which cells of attention matrices (batch, target, source) are links, as a mask of the same shape.

    A cell is a link if its strength reaches ``threshold``. A cell that reaches half of it is also a link if it touches
    such a cell (diagonally counts) and at least one of its two pieces has no link yet: words in a phrase share
    attention. Cells outside words must be 0.
    """
    cells: Any = strength  # the operations below are the same in numpy and torch
    strong = cells >= threshold
    beside = strong | False  # a copy
    for later, earlier in (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[:, :, 1:], np.s_[:, :, :-1]):
        before = beside | False
        beside[later] |= before[earlier]
        beside[earlier] |= before[later]
    both_linked = strong.any(1, keepdims=True) & strong.any(2, keepdims=True)
    return (strong | (beside & ~both_linked & (cells >= threshold / 2))) & (cells > 0)


@dataclass(frozen=True)
class PieceWords:
    """The words that the pieces of one side of a batch are part of."""

    first: np.ndarray  # (batch, pieces): the first word of each piece, −1 for end-of-sentence and padding
    more: np.ndarray | None  # (batch, pieces): how many words follow that it is part of, too; None: no piece has more

    @classmethod
    def of(cls, sentences: Sequence[Pieces], length: int) -> PieceWords:
        """Fill rows of ``length`` pieces."""
        first = np.full((len(sentences), length), -1, np.int64)
        for row, pieces in enumerate(sentences):
            first[row, : len(pieces.first)] = pieces.first
        if all(pieces.last == pieces.first for pieces in sentences):
            return cls(first, None)
        more = np.zeros_like(first)
        for row, pieces in enumerate(sentences):
            more[row, : len(pieces.last)] = np.subtract(pieces.last, pieces.first)
        return cls(first, more)

    def pieces(self) -> np.ndarray:
        """Return how many pieces each sentence has. (batch,)"""
        return (self.first >= 0).sum(1)


@dataclass(frozen=True)
class BatchAttention:
    """The attention of a batch of sentence pairs, a pair a row, and the words that the pieces are part of."""

    forward: np.ndarray  # (batch, target, source), sums to one over source pieces
    backward: np.ndarray  # (batch, target, source), sums to one over target pieces
    source: PieceWords
    target: PieceWords

    @classmethod
    def of(
        cls, forward: np.ndarray, backward: np.ndarray, source: Sequence[Pieces], target: Sequence[Pieces]
    ) -> BatchAttention:
        """Build it from the pieces of each pair."""
        _, target_length, source_length = forward.shape
        return cls(forward, backward, PieceWords.of(source, source_length), PieceWords.of(target, target_length))

    @cached_property
    def _words(self) -> np.ndarray:
        """True for cells between two pieces of words. (batch, target, source)"""
        return (self.target.first >= 0)[:, :, None] & (self.source.first >= 0)[:, None, :]

    @cached_property
    def strength(self) -> np.ndarray:
        """The mean of both directions, 0 outside words. (batch, target, source)"""
        return np.where(self._words, (self.forward + self.backward) / 2, 0.0)

    def scores(self) -> list[float]:
        """Return how well the sentences of each pair fit: the strongest cell of each piece, mean over both sides."""
        pieces = self.source.pieces() + self.target.pieces()
        best = self.strength.max(1).sum(1) + self.strength.max(2).sum(1)
        return (best / np.maximum(pieces, 1)).tolist()

    def links(self, merge: Merge, threshold: float = 0.0) -> list[WordLinks]:
        """Return the links of each pair; ``threshold`` is for the merge ``mean``.

        Two words are linked if any two of their pieces are. The probability is the mean of both directions for the
        strongest pair of linked pieces, whatever the merge.
        """
        if merge == "mean":
            return self._between_words(linked_cells(self.strength, threshold))
        if merge == "best-cells":
            return self._between_words(self._best_cells())
        if merge == "forward":
            return self._between_words(_best(self.forward, 2) & self._words)
        if merge == "backward":
            return self._between_words(_best(self.backward, 1) & self._words)
        found = []
        for forward, backward in zip(self.links("forward"), self.links("backward"), strict=True):
            both = forward | backward
            merged = symmetrise(frozenset(forward), frozenset(backward), merge)
            found.append({link: both[link] for link in sorted(merged)})
        return found

    def _best_cells(self) -> np.ndarray:
        """Return the min(n, m) strongest cells of A_F ⊗ A_B for n and m pieces. (batch, target, source)"""
        product = np.where(self._words, self.forward * self.backward, -1.0)
        order = np.argsort(-product.reshape(len(product), -1), axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
        wanted = np.minimum(self.source.pieces(), self.target.pieces())
        return rank.reshape(product.shape) < wanted[:, None, None]

    def _between_words(self, cells: np.ndarray) -> list[WordLinks]:
        """Return the links between words that linked cells make."""
        rows, targets, sources = np.nonzero(cells)
        strength = self.strength[rows, targets, sources]
        source, target = self.source.first[rows, sources], self.target.first[rows, targets]
        if self.source.more is not None:  # a link of such a piece is one of every word that it is part of
            repeated, place = _repeated(self.source.more[rows, sources] + 1)
            rows, strength, source, targets = (
                rows[repeated],
                strength[repeated],
                source[repeated] + place,
                targets[repeated],
            )
            target = target[repeated]
        if self.target.more is not None:
            repeated, place = _repeated(self.target.more[rows, targets] + 1)
            rows, strength, source, target = (
                rows[repeated],
                strength[repeated],
                source[repeated],
                target[repeated] + place,
            )
        size = int(max(source.max(initial=0), target.max(initial=0))) + 1
        # One number for a pair of words, in the order of row, source word, target word.
        links, places = np.unique((rows * size + source) * size + target, return_inverse=True)
        strongest = np.zeros(len(links))
        np.maximum.at(strongest, places, strength)
        found: list[WordLinks] = [{} for _ in cells]
        for number, probability in zip(links.tolist(), strongest.tolist(), strict=True):
            row, cell = divmod(number, size * size)
            found[row][divmod(cell, size)] = probability
        return found


def _repeated(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each item, repeated, and the repetitions counted from zero. (repetitions,) each"""
    repeated = np.repeat(np.arange(len(counts)), counts)
    return repeated, np.arange(len(repeated)) - (np.cumsum(counts) - counts)[repeated]


def _best(attention: np.ndarray, axis: int) -> np.ndarray:
    """Return the strongest cell along an axis, the first of equals. (batch, target, source)"""
    best = np.zeros(attention.shape, bool)
    np.put_along_axis(best, attention.argmax(axis, keepdims=True), True, axis)
    return best
