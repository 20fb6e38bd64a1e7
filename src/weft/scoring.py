"""Scores of links against gold: alignment error rate, precision, recall, with a signature of how they were computed.

With A the links of a system, S the sure and P the possible gold links (S ⊆ P), after Och and Ney (2003):

    precision = |A ∩ P| / |A|      recall = |A ∩ S| / |S|      AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

all summed over the corpus. Intervals are percentiles over sentences drawn again with replacement.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

import weft
from weft.errors import WeftError
from weft.links import GoldForm, LinkLine, Links

_FRESH = 1 << 16  # sentences that are added up at a time
_MOST_UNITS = 4 * _FRESH


@dataclass(frozen=True)
class Score:
    """The scores of one system."""

    counts: np.ndarray  # (sentences, 4): |A|, |S|, |A ∩ S|, |A ∩ P|; of very many, sums of neighbours

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
        """Return the middle 95 % of the AER of corpora drawn again."""
        return interval(resampled_error_rates(self.counts, resamples, seed))


class CountCollector:
    """Collects the counts of any number of sentences in bounded memory.

    Of more than 300,000 sentences, neighbours are added up, in twos, fours and so on; intervals draw them together.
    """

    def __init__(self) -> None:
        self.sentences = 0
        self._group = 1  # sentences of a unit
        self._units = np.empty((0, 4), np.int64)
        self._fresh = array("q")  # of single sentences

    def add(self, counts: tuple[int, int, int, int]) -> None:
        """Add the counts of a sentence."""
        self.sentences += 1
        self._fresh.extend(counts)
        if len(self._fresh) == 4 * _FRESH:
            self._units, self._fresh = self._all(), array("q")
            if len(self._units) > _MOST_UNITS:
                self._group *= 2
                self._units = _added_up(self._units, 2)

    def _all(self) -> np.ndarray:
        fresh = np.array(self._fresh, np.int64).reshape(-1, 4)
        return np.concatenate([self._units, _added_up(fresh, self._group)])

    def score(self) -> Score:
        """Return the score of all sentences."""
        return Score(self._all())


def _added_up(rows: np.ndarray, group: int) -> np.ndarray:
    """Return the sums of so many neighbouring rows each."""
    return np.add.reduceat(rows, np.arange(0, len(rows), group)) if len(rows) else rows


def error_rate(counts: np.ndarray) -> np.ndarray:
    """Return the AER of counts (…, 4)."""
    links, sure, in_sure, in_possible = np.moveaxis(counts, -1, 0)
    total = np.maximum(links + sure, 1)  # nothing to find and nothing found is no error
    return np.where(links + sure > 0, 1 - (in_sure + in_possible) / total, 0.0)


def link_counts(links: Links, gold: LinkLine) -> tuple[int, int, int, int]:
    """Return |A|, |S|, |A ∩ S| and |A ∩ P| of one sentence pair."""
    return len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible)


def content_links(links: Links, gold: LinkLine) -> Links:
    """Return the links whose two words both have gold links: all that gold of content words alone can judge."""
    sources, targets = {source for source, _ in gold.possible}, {target for _, target in gold.possible}
    return frozenset(link for link in links if link[0] in sources and link[1] in targets)


def score(system: Sequence[Links], gold: Sequence[LinkLine], content: bool = False) -> Score:
    """Score the links of a system, sentence by sentence; ``content``: only those of words that have gold links."""
    if len(system) != len(gold):
        raise WeftError(f"{len(system):,} lines of links but {len(gold):,} sentences of gold")
    if content:
        system = [content_links(links, line) for links, line in zip(system, gold, strict=True)]
    rows = [link_counts(links, line) for links, line in zip(system, gold, strict=True)]
    return Score(np.array(rows, np.int64).reshape(-1, 4))


def resampled_error_rates(counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return the AER of ``resamples`` corpora drawn with replacement, the same draws for the same seed. (resamples,)"""
    sentences = len(counts)
    random = np.random.default_rng(seed)
    sums = np.empty((resamples, counts.shape[1]), counts.dtype)
    for row in sums:
        row[:] = np.bincount(random.integers(0, sentences, sentences), minlength=sentences) @ counts
    return error_rate(sums)


def interval(rates: np.ndarray) -> tuple[float, float]:
    """Return the middle 95 %."""
    low, high = np.percentile(rates, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True)
class Comparison:
    """How much lower or higher the AER of a second system is, on the same draws of sentences."""

    difference: float
    low: float
    high: float
    p_value: float
    """Two-sided, and never 0: the best that n draws can show is 2 / (n + 1)."""

    @property
    def p_text(self) -> str:
        """The p-value for people: ``0.012``, or ``< 0.001``, but never ``0.000``."""
        return f"{self.p_value:.3f}" if self.p_value >= 0.001 else "< 0.001"


def compare(first: Score, second: Score, resamples: int, seed: int) -> Comparison:
    """Compare two systems by paired bootstrap.

    A draw in which the difference is zero or has the other sign counts against the difference. Like sacrebleu, the
    p-value counts the observed corpus as one more draw (Davison and Hinkley 1997), or it could be 0.
    """
    rates = [resampled_error_rates(one.counts, resamples, seed) for one in (first, second)]
    differences = rates[1] - rates[0]
    low, high = interval(differences)
    against = min(int((differences >= 0).sum()), int((differences <= 0).sum()))
    return Comparison(second.aer - first.aer, low, high, min(1.0, 2 * (against + 1) / (resamples + 1)))


@dataclass(frozen=True)
class Signature:
    """Every choice that a score depends on, as it was made."""

    sentences: int
    gold_form: GoldForm
    gold_base: int
    resamples: int
    seed: int
    merge: str = ""
    """How the links of two directions were merged, if that is known."""
    content: bool = False
    """Whether only links between words that have gold links were counted."""

    def __str__(self) -> str:
        base = f",base:{self.gold_base}" if self.gold_form == "links" else ""  # NAACL's form has always the same
        merge = f"|merge:{self.merge}" if self.merge else ""
        words = "|words:content" if self.content else ""
        return (
            f"sentences:{self.sentences}|gold:{self.gold_form},sure+possible{base}|null:no-link|average:corpus{words}{merge}"
            f"|bootstrap:{self.resamples},seed:{self.seed}|version:weft-{weft.__version__}"
        )


class WordErrors:
    """Which words are linked wrongly or missed, and how often."""

    def __init__(self) -> None:
        self.wrong: Counter[tuple[str, str]] = Counter()
        """Linked, though not even possible."""
        self.missed: Counter[tuple[str, str]] = Counter()
        """Sure, but not linked."""

    def add(self, links: Links, gold: LinkLine, source: Sequence[str], target: Sequence[str]) -> None:
        """Count the errors in one sentence pair."""
        self.wrong.update(_words(links - gold.possible, source, target))
        self.missed.update(_words(gold.sure - links, source, target))


def _words(links: Links, source: Sequence[str], target: Sequence[str]) -> Iterable[tuple[str, str]]:
    return ((source[i], target[j]) for i, j in sorted(links))
