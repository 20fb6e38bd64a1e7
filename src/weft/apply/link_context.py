"""The probabilities of links with regard to those of the words beside.

A word that is there twice shares its probability among both of its translations. What the words around it are linked to
tells which of them it is. For source words s and target words t:

    p'(s, t) ∝ p(s, t) · (ε + Σ over other (s', t') of exp(−(|s − s'| + |t − t'|) / 2) · p(s', t'))

over words that are at most four away, scaled so that each word keeps its sum. That gives two results, for source words
and for target words; their mean is taken. What is nearly sure stays as it is.
"""

from __future__ import annotations

import math

import numpy as np

_SURE = 0.7  # a probability from which the words beside do not matter
_UNSUPPORTED = 0.1  # ε: what a link counts that has no other near it
_REACH = 4  # words to each side that count


def in_context(matrix: np.ndarray) -> np.ndarray:
    """Return probabilities of links in their context. (source words, target words)"""
    given = matrix.astype(np.float64)
    supported = given * (_UNSUPPORTED + _spread(_spread(given).T).T - given)
    by_target, by_source = (_scaled(supported, given, axis) for axis in (0, 1))
    return np.where(given >= _SURE, given, np.minimum((by_target + by_source) / 2, 1))


def _spread(values: np.ndarray) -> np.ndarray:
    """Return each value with those of the rows around it added, which count less with each step."""
    found = values.copy()
    for step in range(1, _REACH + 1):
        weighted = values * math.exp(-step / 2)
        found[step:] += weighted[:-step]
        found[:-step] += weighted[step:]
    return found


def _scaled(values: np.ndarray, like: np.ndarray, axis: int) -> np.ndarray:
    """Return values whose sums are those of others."""
    sums = values.sum(axis, keepdims=True)
    return values * np.divide(like.sum(axis, keepdims=True), sums, out=np.zeros_like(sums), where=sums > 0)
