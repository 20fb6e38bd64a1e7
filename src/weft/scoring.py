"""Scores of links against gold: alignment error rate, precision, recall, with a signature of how they were computed.

With A the links of a system, S the sure and P the possible gold links (S ⊆ P), after Och and Ney (2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

all summed over the corpus. Intervals are percentiles over sentences drawn again with replacement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import weft
from weft.errors import WeftError
from weft.links import LinkLine, Links


@dataclass(frozen=True)
class Score:
    """What one system reaches."""

    counts: np.ndarray  # (sentences, 4): |A|, |S|, |A ∩ S|, |A ∩ P|

    @property
    def aer(self) -> float:
        return float(error_rate(self.counts.sum(0)))

    @property
    def precision(self) -> float:
        links, _, _, in_possible = self.counts.sum(0)
        return float(in_possible / links) if links else 1.0

    @property
    def recall(self) -> float:
        _, sure, in_sure, _ = self.counts.sum(0)
        return float(in_sure / sure) if sure else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def links(self) -> int:
        return int(self.counts[:, 0].sum())

    def interval(self, resamples: int, seed: int) -> tuple[float, float]:
        """The middle 95 % of the AER of corpora drawn again."""
        return interval(resampled_error_rates(self.counts, resamples, seed))


def error_rate(counts: np.ndarray) -> np.ndarray:
    """AER from counts (…, 4)."""
    links, sure, in_sure, in_possible = np.moveaxis(counts, -1, 0)
    total = np.maximum(links + sure, 1)  # nothing to find and nothing found is no error
    return np.where(links + sure > 0, 1 - (in_sure + in_possible) / total, 0.0)


def score(system: Sequence[Links], gold: Sequence[LinkLine]) -> Score:
    """Count, sentence by sentence."""
    if len(system) != len(gold):
        raise WeftError(f"{len(system):,} lines of links but {len(gold):,} sentences of gold")
    rows = [
        (len(links), len(line.sure), len(links & line.sure), len(links & line.possible))
        for links, line in zip(system, gold, strict=True)
    ]
    return Score(np.array(rows, np.int64).reshape(-1, 4))


def resampled_error_rates(counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """AER of ``resamples`` corpora drawn with replacement; the same draws for the same seed. (resamples,)"""
    sentences = len(counts)
    draws = np.random.default_rng(seed).integers(0, sentences, (resamples, sentences))
    return error_rate(counts[draws].sum(axis=1))


def interval(rates: np.ndarray) -> tuple[float, float]:
    """The middle 95 %."""
    low, high = np.percentile(rates, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True)
class Comparison:
    """How much lower or higher the AER of a second system is, on the same draws of sentences."""

    difference: float
    low: float
    high: float
    p_value: float
    """The share of draws in which the second system is not better (or not worse, if it seems worse), times two."""


def compare(first: Score, second: Score, resamples: int, seed: int) -> Comparison:
    """Paired bootstrap."""
    rates = [resampled_error_rates(one.counts, resamples, seed) for one in (first, second)]
    differences = rates[1] - rates[0]
    low, high = interval(differences)
    one_sided = min(float((differences >= 0).mean()), float((differences <= 0).mean()))
    return Comparison(second.aer - first.aer, low, high, min(1.0, 2 * one_sided))


def signature(sentences: int, gold_base: int, resamples: int, seed: int) -> str:
    """Every choice that a score depends on."""
    return (
        f"sentences:{sentences}|gold:sure+possible,base:{gold_base}|null:no-link|average:corpus"
        f"|bootstrap:{resamples},seed:{seed}|version:weft-{weft.__version__}"
    )


@dataclass(frozen=True)
class WordErrors:
    """Word pairs, the most frequent first."""

    wrong: list[tuple[tuple[str, str], int]]
    """Linked, though not even possible."""
    missed: list[tuple[tuple[str, str], int]]
    """Sure, but not linked."""


def word_errors(
    system: Sequence[Links],
    gold: Sequence[LinkLine],
    words: Sequence[tuple[Sequence[str], Sequence[str]]],
    most: int,
) -> WordErrors:
    """Which words are linked wrongly or missed most often."""
    wrong: Counter[tuple[str, str]] = Counter()
    missed: Counter[tuple[str, str]] = Counter()
    for links, line, (source, target) in zip(system, gold, words, strict=True):
        wrong.update((source[i], target[j]) for i, j in links - line.possible)
        missed.update((source[i], target[j]) for i, j in line.sure - links)
    return WordErrors(wrong.most_common(most), missed.most_common(most))
