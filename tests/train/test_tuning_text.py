"""The text of a tuning: what is chosen of it, and how often corrected pairs are drawn; tests/train/test_tuning.py has
the rest."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tiny_runs import corrected_pairs

from weft.config import TuneConfig
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import PreparedCorpus
from weft.links import LinkLine
from weft.text.reading import Corpus
from weft.train.tuning_text import Chosen, TuningText

CONFIG = TuneConfig()


def written(folder: Path, pairs: list[tuple[str, str]]) -> Corpus:
    path = folder / "text.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return Corpus(files=(str(path),))


def test_what_is_corrected_is_not_also_among_the_others(tmp_path: Path) -> None:
    pairs = list(sentence_pairs(200, seed=9))
    as_written = [(source.replace(" .", "."), target) for source, target in pairs]
    chosen = Chosen.of(written(tmp_path, as_written), corrected_pairs(50, seed=9), CONFIG, visible=False)
    assert [pair.texts for pair in chosen.corrected] == pairs[:50]
    left = set(pairs[:50])
    assert chosen.others == [one for one, pair in zip(as_written, pairs, strict=True) if pair not in left]
    few_config = dataclasses.replace(CONFIG, pairs=20)
    few = Chosen.of(written(tmp_path, pairs), corrected_pairs(50, seed=9), few_config, visible=False)
    assert len(few.corrected) == len(few.others) == 20


@pytest.mark.parametrize(
    ("corrected", "others", "tokens", "times"),
    [
        (0, 400, 1_000, 1),
        (100, 0, 1_000, 1),
        (20, 400, 100_000, 30),  # as often as if they were alone
        (20, 400, 10_000, 14),  # half of the text
        (300, 400, 10_000, 1),
    ],
)
def test_how_often_corrected_pairs_are_learned_from(
    corpus: PreparedCorpus, corrected: int, others: int, tokens: int, times: int
) -> None:
    training = dataclasses.replace(CONFIG.training, target_tokens=tokens // 10, updates=10)
    chosen = Chosen("text", corrected_pairs(corrected, seed=9), list(sentence_pairs(others, seed=10)))
    text = TuningText.of(chosen, corpus.subwords, training)
    assert len(text) == corrected + others and len(text.taught) == corrected
    drawn = np.bincount(text.packed(training).rows.pairs, minlength=len(text))
    assert (drawn[corrected:] == 1).all() and len(set(drawn[:corrected])) <= 1
    if times == 1:
        assert (drawn == 1).all()
    else:
        epochs = tokens / (text.sides[1].lengths * drawn).sum()
        assert epochs * drawn[0] == pytest.approx(times, rel=0.2)


def test_the_checksum_depends_on_the_links(corpus: PreparedCorpus) -> None:
    pairs = corrected_pairs(100, seed=9)
    before = TuningText.of(Chosen("text", pairs, []), corpus.subwords, CONFIG.training).checksum()
    pairs[3] = pairs[3]._replace(links=LinkLine("", frozenset(), frozenset()))
    assert TuningText.of(Chosen("text", pairs, []), corpus.subwords, CONFIG.training).checksum() != before
