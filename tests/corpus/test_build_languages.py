"""Prepared folders of several corpora: draws, orders of languages, spellings, pairs by way of English."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from prepared_text import held_out_pairs, training_pairs, write, write_pairs

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.prepared import open_prepared, report
from weft.errors import WeftError


@pytest.fixture
def three(tmp_path: Path) -> list[CorpusConfig]:
    """Corpora of three languages with the same English sentences, one of them with English first."""
    english = [f"this is sentence number {number} of them" for number in range(200)]
    rows = {"qq": english, "ww": english[:80], "zz": english[40:60]}
    corpora = []
    for name, sentences in rows.items():
        pairs = [(sentence.replace("e", name), sentence) for sentence in sentences]
        languages = (name, "en")
        if name == "ww":
            pairs, languages = [(target, source) for source, target in pairs], ("en", name)
        corpora.append(dataclasses.replace(write_pairs(tmp_path / f"{name}.tsv", pairs), languages=languages))
    return corpora


def test_corpora_follow_each_other_and_are_counted(three: list[CorpusConfig], tmp_path: Path) -> None:
    with Path(three[1].files[0]).open("a") as file:
        file.write("this is one\t\nthis is another\tthis is anothwwr\nthis is another\tthis is anothwwr\n")
    prepared = prepare(three, PrepareConfig(merges=50, drop_duplicates=True, hold_out=5), tmp_path / "corpus")
    records = prepared.manifest.corpora
    assert prepared.manifest.inputs == tuple(three)
    assert [record.counts["read"] for record in records] == [200, 83, 20]
    assert [record.counts.get("empty", 0) for record in records] == [0, 1, 0]
    assert [record.counts["duplicates"] for record in records] == [0, 1, 0]
    assert [record.pairs for record in records] == [record.counts["kept"] for record in records]
    for name in ("read", "kept", "held out", "like held out", "duplicates"):
        assert prepared.manifest.counts[name] == sum(record.counts[name] for record in records)
    assert sum(record.pairs for record in records) == len(prepared)
    pairs = training_pairs(prepared)
    first = 0
    for record, text in zip(records, three, strict=True):
        foreign = next(name for name in text.languages if name != "en")
        side = text.languages.index(foreign)
        assert all(foreign in pair[side] for pair in pairs[first : first + record.pairs])
        first += record.pairs


def test_a_corpus_of_which_nothing_is_left_is_named(three: list[CorpusConfig], tmp_path: Path) -> None:
    empty = dataclasses.replace(write(tmp_path / "empty.tsv", b"\n\n"), languages=("dd", "en"))
    with pytest.raises(WeftError, match=r"no sentence pair of dd-en is left to train on \(2 read; 2 empty\)"):
        prepare([*three, empty], PrepareConfig(merges=5), tmp_path / "corpus")


def test_merges_are_learned_from_what_is_drawn(tmp_path: Path) -> None:
    sizes = {"ab": 900, "cd": 100, "ce": 90}
    text = [write_pairs(tmp_path / f"{word}.tsv", [(word, word)] * size) for word, size in sizes.items()]
    plain, even = (
        prepare(text, PrepareConfig(merges=1, temperature=temperature), tmp_path / str(temperature))
        for temperature in (1.0, 100.0)
    )
    assert plain.subwords.spellings[-1] == "Ġa"  # 900 to 190 of Ġc
    assert even.subwords.spellings[-1] == "Ġc"  # nearly as often in each of two corpora
    drawn = [corpus.times(1, 0, len(corpus)).sum() for corpus in (plain, even)]
    assert drawn == [1_090, pytest.approx(2_665, abs=20)]


def test_half_of_the_pairs_are_exchanged(three: list[CorpusConfig], tmp_path: Path) -> None:
    plain = training_pairs(prepare(three, PrepareConfig(merges=50), tmp_path / "plain"))
    mixed = training_pairs(prepare(three, PrepareConfig(merges=50, both_orders=True), tmp_path / "mixed"))
    exchanged = [pair[::-1] == other for pair, other in zip(plain, mixed, strict=True)]
    assert all(pair == other or swap for pair, other, swap in zip(plain, mixed, exchanged, strict=True))
    assert 110 < sum(exchanged) < 190


def test_some_sentences_are_spelled_as_others_do(tmp_path: Path) -> None:
    pairs = [(f"Straße {number}", f'the "street" {number}') for number in range(1_000)]
    text = dataclasses.replace(write_pairs(tmp_path / "text.tsv", pairs), languages=("de", "en"))
    spelled = training_pairs(prepare([text], PrepareConfig(merges=60, noise=0.2, hold_out=10), tmp_path / "corpus"))
    german = Counter(source.split()[0] for source, _ in spelled)
    english = Counter("“" in target for _, target in spelled)
    assert set(german) == {"straße", "strasse"} and 150 < german["strasse"] < 250
    assert 150 < english[True] < 250
    held_out = held_out_pairs(open_prepared(tmp_path / "corpus"))
    assert len(held_out) == 10 and set(held_out) <= set(pairs)


def test_pairs_by_way_of_english_are_a_corpus_of_their_own(three: list[CorpusConfig], tmp_path: Path) -> None:
    config = PrepareConfig(merges=50, pivots=100, zero_shot=("zz-qq",))
    prepared = prepare(three, config, tmp_path / "corpus")
    assert prepared.manifest.inputs == tuple(three)
    made = prepared.manifest.corpora[-1]
    assert (made.pairs, made.counts) == (100, {})
    assert "300 of 300 pairs and 100 by way of English" in report(prepared)
    assert "pivots: 100 pairs" in report(prepared)
    pairs = training_pairs(prepared)
    assert len(pairs) == 400 and prepared.manifest.counts["kept"] == 300
    for first, second in pairs[300:]:
        assert first != second
        assert first.replace("qq", "e").replace("ww", "e") == second.replace("ww", "e").replace("zz", "e")
    assert {("qq" in first, "zz" in second) for first, second in pairs[300:]} == {(True, False), (False, True)}


def test_pivots_need_shared_sentences(three: list[CorpusConfig], tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="pivots: there are no two corpora with the same sentences of language en"):
        prepare(three[:1], PrepareConfig(merges=5, pivots=10), tmp_path / "corpus")
