"""Translation models that begin from finished ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, equal, train_forward

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.prepared import PreparedCorpus, open_prepared
from weft.errors import WeftError
from weft.model.translation import TranslationModel
from weft.train.runlog import read_metrics
from weft.train.stage_translate import begin_from

TABLE = "embedding.words.weight"


@pytest.fixture
def finished(corpus: PreparedCorpus, tmp_path: Path) -> Path:
    return train_forward(corpus, tmp_path / "finished")


def _weights(folder: Path, corpus: PreparedCorpus) -> dict[str, torch.Tensor]:
    """Of a model, without the rows that only fill the table of embeddings up."""
    weights = load_file(folder / "model.safetensors")
    return weights | {TABLE: weights[TABLE][: len(corpus.subwords)]}


def test_training_begins_where_another_has_ended(corpus: PreparedCorpus, finished: Path, tmp_path: Path) -> None:
    none = dataclasses.replace(TRAINING, updates=0)
    same = train_forward(corpus, tmp_path / "same", none, str(finished))
    assert equal(_weights(same, corpus), _weights(finished, corpus))
    on = train_forward(corpus, tmp_path / "on", start=str(finished))
    first, second = (read_metrics(tmp_path / run / "forward" / "metrics.jsonl") for run in ("finished", "on"))
    assert second[0]["loss"] < first[0]["loss"] - 0.5  # it does not learn from nothing
    for other in (str(on), ""):  # another start, none at all
        with pytest.raises(WeftError, match="made with start"):
            train_forward(corpus, tmp_path / "same", none, other)


def test_a_run_that_had_no_start_is_not_taken_up_with_one(
    corpus: PreparedCorpus, finished: Path, tmp_path: Path
) -> None:
    record = finished.parent / "finished.json"
    described = json.loads(record.read_text())
    del described["settings"]["start"]  # as if it were older than this setting
    record.write_text(json.dumps(described))
    assert train_forward(corpus, tmp_path / "finished") == finished
    with pytest.raises(WeftError, match="made with start = None"):
        train_forward(corpus, tmp_path / "finished", start=str(finished))


def test_the_loss_on_held_out_pairs_is_reported(
    corpus: PreparedCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    untrained = train_forward(corpus, tmp_path / "untrained", dataclasses.replace(TRAINING, updates=0))
    trained = train_forward(corpus, tmp_path / "trained", dataclasses.replace(TRAINING, updates=150))
    records = [json.loads((model.parent / "finished.json").read_text()) for model in (untrained, trained)]
    before, after = (record["held_out_loss"] for record in records)
    assert after < 0.8 * before
    last = read_metrics(trained.parent / "metrics.jsonl")[-1]["plain_loss"]
    assert after == pytest.approx(last, rel=0.2)  # sentences of one made-up language are alike
    assert f"forward: −log p is {after:.3f} a token on 50 held-out pairs" in capsys.readouterr().err


def test_other_subwords_share_the_pieces_that_both_know(finished: Path, corpus: PreparedCorpus, tmp_path: Path) -> None:
    text = tmp_path / "other.tsv"
    text.write_text("un mot rare\tthe rare word\n" * 20 + "le vert\tthe green\n" * 20, encoding="utf-8")
    prepare([CorpusConfig(files=(str(text),))], PrepareConfig(merges=60), tmp_path / "other")
    subwords = open_prepared(tmp_path / "other").subwords
    torch.manual_seed(1)
    model = TranslationModel(MODEL, len(subwords))
    random = model.table.detach().clone()
    begin_from(model, subwords, finished)
    old = load_file(finished / "model.safetensors")
    shared = [piece for piece in subwords.spellings if piece in corpus.subwords.spellings]
    assert 256 < len(shared) < len(subwords)  # all bytes, and some words
    for number, piece in enumerate(subwords.spellings):
        known = piece in corpus.subwords.spellings
        wanted = old[TABLE][corpus.subwords.spellings.index(piece)] if known else random[number]
        assert torch.equal(model.table[number], wanted)
    others = {name: value for name, value in old.items() if name != TABLE}
    assert equal(others, {name: value for name, value in model.state_dict().items() if name in others})


def test_a_model_of_another_shape_is_refused(corpus: PreparedCorpus, finished: Path) -> None:
    model = TranslationModel(dataclasses.replace(MODEL, encoder_layers=2), len(corpus.subwords))
    with pytest.raises(WeftError, match="another shape"):
        begin_from(model, corpus.subwords, finished)
