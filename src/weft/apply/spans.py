"""Find where a stretch of one sentence is in its translation, by the probabilities of all links.

For a stretch S of source words and a target word t, with p(s, t) the probability of a link:

    inside(t)  = Σ over s in S of p(s, t)              outside(t) = Σ over all other s of p(s, t)
    strength   = min(1, max over t of inside(t) − λ·outside(t))
    gain(t)    = max(inside(t) − share(t)·strength, −γ) − λ·outside(t)

The counterpart of S is the run of target words with the greatest sum of gains. So it ends at words that are linked to S
to a good part, runs over words that are linked to nothing (each costs γ) and over a few that belong to other words
(each costs λ), and leaves out what is far away. Short words need a greater share: most of them are articles and
prepositions, which attend to the noun beside them wherever they belong.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

OUTSIDE = 0.4  # λ: what a link to a word outside of the stretch costs
GAP = 0.02  # γ: the most that a word without links costs
SHARE = 0.25  # of the strength, that a word needs to gain something
SHORT_SHARE = 0.6  # the same for a short word
STRENGTH = 0.2  # that a stretch needs to have a counterpart

_LETTERS = 3  # of a short word, at most
_NEVER = -1e6  # the gain of a word that may not be chosen


class Run(NamedTuple):
    """A run of words, or of tokens."""

    start: int
    end: int  # after the last one

    def overlaps(self, other: Run) -> bool:
        """Tell whether two runs have a word in common."""
        return self.start < other.end and other.start < self.end


class Counterpart(NamedTuple):
    """Where a stretch of the source is in the target."""

    run: Run
    strength: float  # from 0 to 1: how surely its surest word belongs there


def shares(words: Sequence[str]) -> np.ndarray:
    """Return the share of the strength that each target word needs. (words,)"""
    return np.array([SHORT_SHARE if _is_short(word) else SHARE for word in words])


def _is_short(word: str) -> bool:
    """Tell whether a word has few letters. Scripts without capitals write more in a letter, and acronyms are names."""
    letters = word.strip("'’")
    return len(letters) <= _LETTERS and (letters.islower() or letters.istitle())


def gains(inside: np.ndarray, outside: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gain of each target word and the strength of each stretch. (…, words), (…)"""
    strength = np.minimum((inside - OUTSIDE * outside).max(-1, initial=0), 1)
    return np.maximum(inside - share * strength[..., None], -GAP) - OUTSIDE * outside, strength


def with_copies(matrix: np.ndarray, source: Sequence[str], target: Sequence[str], wanted: Sequence[Run]) -> np.ndarray:
    """Return probabilities in which stretches that the translation copies are linked to their copies alone.

    A stretch is copied if it has a capital or a digit, as names and numbers do, and is there exactly once in both
    sentences.
    """
    for run in wanted:
        words = list(source[run.start : run.end])
        if not any(letter.isupper() or letter.isdigit() for word in words for letter in word):
            continue
        places = _places(words, target)
        if len(places) == 1 == len(_places(words, source)):
            copied = slice(places[0], places[0] + len(words))
            matrix = matrix.copy()
            matrix[run.start : run.end] = matrix[:, copied] = 0
            matrix[run.start : run.end, copied] = np.eye(len(words))
    return matrix


def _places(wanted: list[str], words: Sequence[str]) -> list[int]:
    """Return where words stand one after the other."""
    size = len(wanted)
    starts = (place for place, word in enumerate(words) if word == wanted[0])
    return [place for place in starts if list(words[place : place + size]) == wanted]


def counterparts(
    matrix: np.ndarray,
    wanted: Sequence[Run],
    layers: Sequence[Hashable],
    share: np.ndarray,
    tokens: np.ndarray | None = None,
    strength: float = STRENGTH,
) -> list[Counterpart | None]:
    """Return the counterpart of each wanted stretch, or None if there is none.

    Those of one layer have no word in common, unless their stretches have: what gains most is chosen first.

    Args:
        matrix: The probability of each link. (source words, target words)
        wanted: Stretches of source words, none of them empty.
        layers: Of each stretch.
        share: What ``shares`` returns. (target words,)
        tokens: The first target word of each token, if counterparts are to be runs of tokens: a token gains what its
            best word gains.
        strength: What a stretch needs to have a counterpart.
    """
    if not wanted or not matrix.size:
        return [None] * len(wanted)
    within = np.zeros((len(wanted), len(matrix)))
    for row, (start, end) in zip(within, wanted, strict=True):
        row[start:end] = 1
    inside = within @ matrix  # (wanted, target words)
    outside = matrix.sum(0) - inside
    gained, strengths = gains(inside, outside, share)
    if tokens is not None:
        gained = np.maximum.reduceat(gained, tokens, axis=1)
    best = [_best_run(gain) for gain in gained]
    found: list[Counterpart | None] = [None] * len(wanted)
    for number in sorted(range(len(wanted)), key=lambda number: -best[number][1]):
        run, total = best[number]
        taken = [
            one.run
            for other, one in enumerate(found)
            if one and layers[other] == layers[number] and not wanted[other].overlaps(wanted[number])
        ]
        if any(run.overlaps(other) for other in taken):
            for other in taken:
                gained[number, slice(*other)] = _NEVER
            run, total = _best_run(gained[number])
        if total > 0 and strengths[number] >= strength:
            found[number] = Counterpart(run, float(strengths[number]))
    return found


def _best_run(gain: np.ndarray) -> tuple[Run, float]:
    """Return the run with the greatest sum, the shortest of equals, and the sum."""
    sums = np.concatenate([[0.0], np.cumsum(gain)])
    rises = sums[1:] - np.minimum.accumulate(sums[:-1])
    last = int(rises.argmax())
    start = last - int(sums[last::-1].argmin())
    return Run(start, last + 1), float(rises[last])
