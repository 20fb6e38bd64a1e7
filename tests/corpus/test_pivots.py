"""Pairs by way of English: equal sentences, spread over pairs of languages, some of them kept apart."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from weft.corpus.pivots import choose_pivots

NAMES = ["da", "de", "fr", "ru"]


@pytest.fixture(scope="module")
def sentences() -> tuple[np.ndarray, np.ndarray]:
    """English fingerprints and languages; Russian shares few sentences with the others."""
    chance = np.random.default_rng(1)
    english = chance.integers(0, 2_000, 6_000).astype(np.uint64) * np.uint64(2**50)
    language = chance.choice(4, 6_000, p=[0.33, 0.33, 0.33, 0.01])
    return english, language


def kinds(chosen: np.ndarray, language: np.ndarray) -> Counter[str]:
    return Counter("-".join(sorted(NAMES[one] for one in language[pair])) for pair in chosen)


def test_both_sentences_have_the_same_english_one(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    english, language = sentences
    chosen = choose_pivots(english, language, NAMES, 10**6, ())
    assert (english[chosen[:, 0]] == english[chosen[:, 1]]).all()
    assert (language[chosen[:, 0]] != language[chosen[:, 1]]).all()
    expected = sum(
        len(set(english[language == a].tolist()) & set(english[language == b].tolist()))
        for a in range(4)
        for b in range(a)
    )
    assert len(chosen) == expected == len({tuple(sorted(pair)) for pair in chosen.tolist()})


def test_all_pairs_of_languages_get_equally_many_as_far_as_there_are(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    found = kinds(choose_pivots(*sentences, NAMES, 600, ()), sentences[1])
    assert 590 < found.total() <= 600
    assert found["da-de"] == found["da-fr"] == found["de-fr"] > 100
    assert all(0 < found[kind] < 100 for kind in ("da-ru", "de-ru", "fr-ru"))


def test_some_pairs_of_languages_are_kept_apart(sentences: tuple[np.ndarray, np.ndarray]) -> None:
    found = kinds(choose_pivots(*sentences, NAMES, 300, ("fr-de", "da-ru")), sentences[1])
    assert set(found) == {"da-de", "da-fr", "de-ru", "fr-ru"}


def test_nothing_shared_gives_nothing() -> None:
    assert choose_pivots(np.arange(4, dtype=np.uint64), np.array([0, 1, 2, 3]), NAMES, 10, ()).shape == (0, 2)
    assert choose_pivots(np.empty(0, np.uint64), np.empty(0, np.int64), [], 10, ()).shape == (0, 2)
