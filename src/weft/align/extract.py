"""From attention between pieces to links between words, for numpy and torch alike."""

from __future__ import annotations

from typing import Any

import numpy as np


def linked_cells(strength: Any, threshold: float) -> Any:
    """Which cells of attention matrices (batch, target, source) are links, as a mask.

    Those of at least ``threshold``. And, as phrases hang together and their words have to share their attention, those
    of at least half of it that touch one of the former, also at a corner, if either of their two words has no link yet.

    Arrays of numpy and tensors of torch will do; what is no word must be 0.
    """
    strong = strength >= threshold
    beside = strong | False  # a copy
    for ahead, behind in (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[:, :, 1:], np.s_[:, :, :-1]):
        before = beside | False
        beside[ahead] |= before[behind]
        beside[behind] |= before[ahead]
    both_linked = strong.any(1, keepdims=True) & strong.any(2, keepdims=True)
    return (strong | (beside & ~both_linked & (strength >= threshold / 2))) & (strength > 0)


def word_links(
    strength: np.ndarray, source_words: np.ndarray, target_words: np.ndarray, threshold: float
) -> list[tuple[dict[tuple[int, int], float], float]]:
    """Links between words from a batch of matrices between pieces, (batch, target, source), and scores of the pairs.

    ``source_words`` (batch, source) and ``target_words`` (batch, target) have the number of each piece's word, −1 for
    what is no piece. Two words are linked if any two of their pieces are, as strongly as the strongest of these. The
    score of a pair is the mean over the pieces of both sides of their strongest cell.
    """
    words = (target_words >= 0)[:, :, None] & (source_words >= 0)[:, None, :]
    strength = np.where(words, strength, 0.0)  # (batch, target, source)
    rows, targets, sources = np.nonzero(linked_cells(strength, threshold))
    size = int(max(source_words.max(), target_words.max())) + 1
    # One number for a pair of words, in the order of row, source word, target word.
    numbers = (rows * size + source_words[rows, sources]) * size + target_words[rows, targets]
    links, places = np.unique(numbers, return_inverse=True)
    strongest = np.zeros(len(links))
    np.maximum.at(strongest, places, strength[rows, targets, sources])
    links_of: list[dict[tuple[int, int], float]] = [{} for _ in strength]
    for number, probability in zip(links.tolist(), strongest.tolist(), strict=True):
        row, cell = divmod(number, size * size)
        links_of[row][divmod(cell, size)] = probability
    pieces = (source_words >= 0).sum(1) + (target_words >= 0).sum(1)
    scores = (strength.max(1).sum(1) + strength.max(2).sum(1)) / np.maximum(pieces, 1)
    return list(zip(links_of, scores.tolist(), strict=True))
