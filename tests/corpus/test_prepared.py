"""Prepared folders that are opened: what they hold, and that damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.prepared import (
    CorpusRecord,
    PreparedCorpus,
    draw_counts,
    draw_rates,
    open_prepared,
    read_manifest,
)
from weft.errors import WeftError


def test_usual_vocabularies_have_ids_of_two_bytes(corpus: PreparedCorpus) -> None:
    assert corpus.manifest.vocabulary == len(corpus.subwords) == 458
    assert corpus.manifest.id_type == "<u2"
    assert corpus.source.ids.dtype == np.uint16 and corpus.source.offsets.dtype == np.int64


@pytest.mark.parametrize("change", ["shorter", "missing"])
def test_a_file_of_another_size_is_detected_at_once(change: str, text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    ids = folder / "target.ids"
    if change == "missing":
        ids.unlink()
    else:
        ids.write_bytes(ids.read_bytes()[:-2])
    with pytest.raises(WeftError, match=r"target\.ids: missing or not as weft prepare wrote it"):
        open_prepared(folder)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "another"}', '{"format": "weft prepared corpus 2"}', "corpora", "files"]
)
def test_a_damaged_manifest_is_an_error(content: str, text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), folder)
    if content in {"corpora", "files"}:  # of another type
        content = json.dumps(json.loads((folder / "manifest.json").read_text(encoding="utf-8")) | {content: 1})
    (folder / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(WeftError, match=r"manifest\.json: .*make it with weft prepare"):
        open_prepared(folder)


def test_the_checksum_stands_for_the_content(text_file: Path, tmp_path: Path) -> None:
    corpus = CorpusConfig(files=(str(text_file),))
    one, again, other = (
        prepare([corpus], PrepareConfig(merges=merges), tmp_path / name)
        for name, merges in (("one", 20), ("again", 20), ("other", 21))
    )
    assert one.checksum == again.checksum != other.checksum


def test_a_manifest_without_an_option_has_its_default(text_file: Path, tmp_path: Path) -> None:
    """So a corpus stays usable when weft gets a new option."""
    prepare([CorpusConfig(files=(str(text_file),))], PrepareConfig(merges=10), tmp_path / "corpus")
    path = tmp_path / "corpus" / "manifest.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    del described["options"]["ratio"]
    path.write_text(json.dumps(described), encoding="utf-8")
    assert read_manifest(tmp_path / "corpus").options == PrepareConfig(merges=10)


def test_corpora_are_drawn_by_temperature() -> None:
    corpora = [CorpusRecord(CorpusConfig(), pairs, {}) for pairs in (90_000, 10_000, 1_000)]
    assert draw_rates(corpora, 1.0) == [1, 1, 1]
    assert (draw_counts(corpora, 1.0, 1, 0, 101_000) == 1).all()
    assert draw_rates(corpora, 2.0) == [1, 3, pytest.approx(90**0.5)]
    drawn = draw_counts(corpora, 2.0, 1, 0, 101_000)
    counts = np.split(drawn, [90_000, 100_000])
    assert (counts[0] == 1).all() and (counts[1] == 3).all()
    assert set(counts[2].tolist()) == {9, 10}
    assert counts[2].mean() == pytest.approx(90**0.5, abs=0.05)
    assert (counts[2] == 9 + (np.random.default_rng([1, 2]).random(1_000) < 90**0.5 % 1)).all()  # as always
    assert (drawn != draw_counts(corpora, 2.0, 2, 0, 101_000)).any()
    for first, end in ((0, 10), (89_990, 90_010), (100_100, 101_000), (99_000, 100_500), (5, 5)):  # in any stretches
        assert (draw_counts(corpora, 2.0, 1, first, end) == drawn[first:end]).all()


def test_a_single_corpus_is_drawn_once_at_any_temperature(text_file: Path, tmp_path: Path) -> None:
    text = [CorpusConfig(files=(str(text_file),))]
    plain, other = (
        prepare(text, PrepareConfig(merges=20, temperature=temperature), tmp_path / str(temperature))
        for temperature in (1.0, 3.0)
    )
    assert (other.times(1, 0, 2_000) == 1).all()
    assert plain.checksum == other.checksum


def test_the_checksum_stands_for_what_is_drawn(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "small.tsv").write_text("a\tb\n" * 50)
    text = [CorpusConfig(files=(str(file),)) for file in (text_file, tmp_path / "small.tsv")]
    plain, other = (
        prepare(text, PrepareConfig(merges=0, temperature=temperature), tmp_path / str(temperature))
        for temperature in (1.0, 3.0)
    )
    assert plain.manifest.files == other.manifest.files
    assert plain.checksum != other.checksum
    assert other.times(1, 0, 2_050).sum() > plain.times(1, 0, 2_050).sum() == 2_050
