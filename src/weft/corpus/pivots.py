"""Pairs of two languages without English, from pairs of each with the same English sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

PIVOT = "en"


def choose_pivots(
    english: np.ndarray, language: np.ndarray, names: Sequence[str], most: int, apart: Collection[str]
) -> np.ndarray:
    """Choose pairs of sentences with equal English ones, given for each sentence a fingerprint of the English one and
    the number of its language in ``names``, (sentences,) each.

    Returns the numbers of both sentences of at most ``most`` pairs, (pairs, 2). All pairs of languages but those in
    ``apart``, such as "de-fr", get equally many, as far as they have them; which ones is random.
    """
    order = np.lexsort((language, english))
    english, language = english[order], language[order]
    new = np.ones(len(order), bool)  # the first sentence of its language for this English one
    new[1:] = (english[1:] != english[:-1]) | (language[1:] != language[:-1])
    order, english, language = order[new], english[new], language[new]
    allowed = np.array([[f"{a}-{b}" not in apart and f"{b}-{a}" not in apart for b in names] for a in names])
    found = [np.empty((2, 0), np.int64)]
    for distance in range(1, len(names)):  # between two sentences of a group
        first = np.flatnonzero(english[distance:] == english[:-distance])
        first = first[allowed[language[first], language[first + distance]]]
        found.append(np.stack([first, first + distance]))
    first, second = np.concatenate(found, axis=1)
    kind = language[first] * len(names) + language[second]
    rank = _ranks(kind, _mixed(english[first], kind))
    chosen = rank < _level(np.bincount(kind), most)
    return order[np.stack([first[chosen], second[chosen]], axis=1)]


def _mixed(english: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return a number for each candidate, in no order. (candidates,)"""
    mixed = (english ^ (kind.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))


def _ranks(kind: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return how many of the same kind have a smaller number. (candidates,)"""
    order = np.lexsort((number, kind))
    counts = np.bincount(kind)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def _level(counts: np.ndarray, most: int) -> int:
    """Return the largest number of each kind with which there are at most ``most`` in all."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() <= most else (low, middle - 1)
    return low
