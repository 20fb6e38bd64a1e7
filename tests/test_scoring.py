"""Scores by hand, intervals, comparisons, and agreement with published figures."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import weft
from weft.align.symmetrisation import symmetrise
from weft.config import Symmetrisation
from weft.errors import WeftError
from weft.links import LinkLine, Links, read_gold, read_links
from weft.scoring import (
    Comparison,
    CountCollector,
    Score,
    Signature,
    WordErrors,
    compare,
    error_rate,
    interval,
    resampled_error_rates,
    score,
)

SHARED = Path(__file__).parents[2] / "shared" / "data"


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> LinkLine:
    return LinkLine("gold:1", frozenset(sure), frozenset(sure | possible))


def test_score_by_hand() -> None:
    lines = [gold({(0, 0), (1, 1)}, {(2, 2)}), gold({(0, 1)}, set())]
    system: list[Links] = [frozenset({(0, 0), (2, 2), (5, 5)}), frozenset()]
    result = score(system, lines)
    assert result.counts.tolist() == [[3, 2, 1, 2], [0, 1, 0, 0]]
    assert result.precision == pytest.approx(2 / 3)
    assert result.recall == pytest.approx(1 / 3)
    assert result.aer == pytest.approx(1 - (1 + 2) / (3 + 3))
    assert result.f1 == pytest.approx(2 * (2 / 3) * (1 / 3) / (2 / 3 + 1 / 3))
    assert result.links == 3


def test_perfect_empty_and_missing() -> None:
    lines = [gold({(0, 0)}, {(1, 1)})]
    assert score([frozenset({(0, 0)})], lines).aer == 0
    assert score([frozenset({(0, 0), (1, 1)})], lines).aer == 0
    assert score([frozenset()], lines).aer == 1
    assert score([frozenset()], [gold(set(), set())]).aer == 0
    with pytest.raises(WeftError, match="2 lines of links but 1 sentences"):
        score([frozenset(), frozenset()], lines)


def noisy(right: float, seed: int, sentences: int = 200) -> Score:
    """A system that finds each of ten sure links with some probability."""
    found = np.random.default_rng(seed).binomial(10, right, sentences)
    ten = np.full(sentences, 10)
    return Score(np.stack([ten, ten, found, found], axis=1))


def test_intervals_cover_what_they_should_and_repeat() -> None:
    one = noisy(0.8, 1)
    low, high = interval(resampled_error_rates(one.counts, 1000, 1))
    assert low < one.aer < high
    deviation = np.sqrt(0.8 * 0.2 / 2000)
    assert (high - low) / 2 == pytest.approx(1.96 * deviation, rel=0.2)
    assert np.array_equal(resampled_error_rates(one.counts, 50, 7), resampled_error_rates(one.counts, 50, 7))


def test_paired_comparison() -> None:
    first, better, alike = noisy(0.8, 1), noisy(0.85, 2), noisy(0.8, 3)
    improved = compare(first, better, 1000, 1)
    assert improved.difference == pytest.approx(better.aer - first.aer)
    assert improved.low < improved.difference < improved.high < 0 and improved.p_value < 0.01
    assert compare(first, alike, 1000, 1).p_value > 0.05
    assert compare(first, first, 1000, 1).p_value == 1


def test_p_values_are_never_zero() -> None:
    clear = compare(noisy(0.5, 1), noisy(0.95, 2), 100, 1)
    assert clear.p_value == pytest.approx(2 / 101)
    assert Comparison(0.1, 0.0, 0.2, 0.0004).p_text == "< 0.001"
    assert Comparison(0.1, 0.0, 0.2, 0.0123).p_text == "0.012"


def test_resampling_is_that_of_one_large_draw() -> None:
    counts = noisy(0.7, 4, sentences=53).counts
    draws = np.random.default_rng(3).integers(0, 53, (20, 53))
    assert np.array_equal(resampled_error_rates(counts, 20, 3), error_rate(counts[draws].sum(axis=1)))


def test_resampling_takes_memory_of_one_draw() -> None:
    counts = noisy(0.7, 4, sentences=100_000).counts
    tracemalloc.start()
    resampled_error_rates(counts, 30, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # thirty draws at once would be 120 MB


def test_the_signature_names_what_was_used() -> None:
    links = str(Signature(254, "links", 1, 1000, 7, merge="grow-diag"))
    for part in ("sentences:254|", "gold:links,sure+possible,base:1|", "merge:grow-diag|", "bootstrap:1000,seed:7|"):
        assert part in links
    naacl = str(Signature(254, "naacl", 1, 1000, 7))
    assert "gold:naacl,sure+possible|" in naacl and "base" not in naacl and "merge" not in naacl
    assert naacl.endswith(f"version:weft-{weft.__version__}")


def test_word_errors() -> None:
    found = WordErrors()
    for links in (frozenset({(0, 1)}), frozenset({(0, 0), (0, 1)})):
        found.add(links, gold({(0, 0), (1, 1)}, set()), ["das", "haus"], ["the", "house"])
    assert found.wrong == {("das", "house"): 2}
    assert found.missed == {("haus", "house"): 2, ("das", "the"): 1}


# Three sentence pairs; worked out on paper: |A|, |A ∩ S|, |A ∩ P| of each, with |S| = 7.
BY_HAND: list[tuple[str, Symmetrisation | None, tuple[int, int, int]]] = [
    ("forward", None, (7, 4, 6)),
    ("backward", None, (5, 4, 4)),
    ("both", "intersection", (3, 3, 3)),
    ("both", "union", (9, 5, 7)),
    ("both", "grow-diag", (5, 3, 4)),
    ("both", "grow-diag-final", (9, 5, 7)),
    ("both", "grow-diag-final-and", (8, 5, 7)),
    ("both", "lilt-grow-diag", (4, 3, 4)),
    ("both", "lilt-grow-diag-final", (7, 5, 7)),
]


@pytest.mark.parametrize(("file", "method", "counted"), BY_HAND)
def test_scores_worked_out_on_paper(file: str, method: Symmetrisation | None, counted: tuple[int, int, int]) -> None:
    folder = Path(__file__).parent / "links_by_hand"
    forward, backward = ([line.sure for line in read_links(str(folder / name))] for name in ("forward", "backward"))
    if method is not None:
        links = [symmetrise(*both, method) for both in zip(forward, backward, strict=True)]
    else:
        links = forward if file == "forward" else backward
    result = score(links, read_gold(str(folder / "gold")))
    linked, in_sure, in_possible = counted
    assert result.counts.sum(0).tolist() == [linked, 7, in_sure, in_possible]
    assert result.aer == pytest.approx(1 - (in_sure + in_possible) / (linked + 7))
    assert result.precision == pytest.approx(in_possible / linked) and result.recall == pytest.approx(in_sure / 7)


# AER of MGIZA's and FastAlign's published output on the dev sentences: forward, reverse, grow-diag and grow-diag-final.
PUBLISHED = {
    ("giza", "deen"): (21.38, 24.37, 22.47, 21.63),
    ("giza", "enfr"): (7.86, 9.54, 5.84, 6.15),
    ("giza", "roen"): (28.09, 32.41, 27.49, 25.89),
    ("fastalign", "deen"): (28.99, 32.65, 27.85, 28.66),
    ("fastalign", "enfr"): (15.65, 15.35, 9.52, 11.28),
    ("fastalign", "roen"): (33.06, 34.72, 31.52, 31.30),
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs published output that is not part of the project")
@pytest.mark.parametrize(("system", "pair"), PUBLISHED)
def test_published_figures_are_reproduced(system: str, pair: str) -> None:
    lines = read_gold(str(SHARED / pair / "dev.gold"))
    found = []
    for name in ("", "-reverse", "-grow-diagonal", "-grow-diagonal-final"):
        links = [line.sure for line in read_links(str(SHARED / pair / f"dev.{system}{name}.pharaoh"))]
        found.append(round(100 * score(links, lines).aer, 2))
    assert tuple(found) == PUBLISHED[system, pair]


@pytest.mark.parametrize("sentences", [0, 3, 32, 33, 1_000, 4_099])
def test_counts_of_many_sentences_take_bounded_memory(sentences: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.scoring._FRESH", 16)
    monkeypatch.setattr("weft.scoring._MOST_UNITS", 64)
    rows = np.random.default_rng(1).integers(0, 9, (sentences, 4))
    collector = CountCollector()
    for row in rows.tolist():
        collector.add(tuple(row))
    counts = collector.score().counts
    assert collector.sentences == sentences and len(counts) <= 64 + 16
    assert counts.sum(0).tolist() == rows.sum(0).tolist()
    assert sentences > 80 or counts.tolist() == rows.tolist()
