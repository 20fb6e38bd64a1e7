"""Translation models that begin from finished ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, equal

from weft.config import PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.prepared import PreparedCorpus, open_prepared
from weft.errors import WeftError
from weft.model.translation import TranslationModel
from weft.recipe import StartConfig
from weft.text.reading import Corpus
from weft.train.distributed import Process
from weft.train.runlog import read_metrics
from weft.train.stage_translate import begin_from, train_translation

TABLE = "embedding.words.weight"
HERE = Process(0, 1, torch.device("cpu"))


@pytest.fixture
def finished(corpus: PreparedCorpus, tmp_path: Path) -> Path:
    return train_translation(corpus, MODEL, TRAINING, ("forward",), StartConfig(), tmp_path / "finished", HERE)[
        "forward"
    ]


def _weights(folder: Path, corpus: PreparedCorpus) -> dict[str, torch.Tensor]:
    """Of a model, without the rows that only fill the table of embeddings up."""
    weights = load_file(folder / "model.safetensors")
    return weights | {TABLE: weights[TABLE][: len(corpus.subwords)]}


def test_training_begins_where_another_has_ended(corpus: PreparedCorpus, finished: Path, tmp_path: Path) -> None:
    start = StartConfig(forward=str(finished))
    none = dataclasses.replace(TRAINING, updates=0)
    same = train_translation(corpus, MODEL, none, ("forward",), start, tmp_path / "same", HERE)
    assert equal(_weights(same["forward"], corpus), _weights(finished, corpus))
    train_translation(corpus, MODEL, TRAINING, ("forward",), start, tmp_path / "on", HERE)
    first, second = (read_metrics(tmp_path / run / "forward" / "metrics.jsonl") for run in ("finished", "on"))
    assert second[0]["loss"] < first[0]["loss"] - 0.5  # it does not learn from nothing
    again = StartConfig(forward=str(tmp_path / "on" / "forward" / "model"))
    with pytest.raises(WeftError, match="made with start"):
        train_translation(corpus, MODEL, none, ("forward",), again, tmp_path / "same", HERE)


def test_other_subwords_share_the_pieces_that_both_know(finished: Path, corpus: PreparedCorpus, tmp_path: Path) -> None:
    text = tmp_path / "other.tsv"
    text.write_text("un mot rare\tthe rare word\n" * 20 + "le vert\tthe green\n" * 20, encoding="utf-8")
    prepare(Corpus((str(text),)), PrepareConfig(merges=60), tmp_path / "other")
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
