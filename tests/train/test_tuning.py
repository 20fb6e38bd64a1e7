"""Tuning a small aligner to other text: it learns its words, and what comes out is an aligner again."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from tiny_runs import TRAINING

from weft.align.onnx_aligner import Aligner
from weft.config import EncoderConfig, TuneConfig
from weft.corpus.made_up import examples, sentence_pairs
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.text.reading import Corpus
from weft.train.distributed import Process
from weft.train.export import save_aligner
from weft.train.tuning import tune

PROCESS = Process(0, 1, torch.device("cpu"))
SHAPE = EncoderConfig(layers=1, width=32, feed_forward=64, heads=4)
FAST = EncoderConfig(layers=1, width=16, feed_forward=16, heads=2)
CONFIG = TuneConfig(merges=20, training=dataclasses.replace(TRAINING, updates=200, learning_rate=4e-3))
SHORT = TuneConfig(training=dataclasses.replace(TRAINING, updates=3))


@pytest.fixture(params=[False], ids=["two"])
def model(request: pytest.FixtureRequest, corpus: PreparedCorpus, tmp_path: Path) -> Path:
    """A small aligner that has learned nothing, but has its opinions."""
    torch.manual_seed(4)
    scorer = Scorer(SHAPE, len(corpus.subwords), shared=request.param).eval()
    scorer.encoders[0].project.weight.data *= 6
    fast = Scorer(FAST, scorer).eval()
    text = torch.randint(2, 200, (2, 4, 12)).unbind()
    save_aligner(tmp_path / "before", scorer, fast, [PairRows.of(*text)], corpus.subwords, 0.4)
    return tmp_path / "before"


@pytest.fixture
def text(tmp_path: Path) -> Corpus:
    path = tmp_path / "text.tsv"
    lines = [f"{source}\t{target}\n" for source, target in sentence_pairs(300, seed=9)]
    path.write_text("".join(["\t\n", *lines]), encoding="utf-8")
    return Corpus(files=(str(path),))


@pytest.mark.parametrize("model", [False, True], ids=["two", "shared"], indirect=True)
def test_an_aligner_learns_a_language(model: Path, text: Corpus, tmp_path: Path) -> None:
    folder = tune(model, text, tmp_path / "run", CONFIG, PROCESS)
    assert folder == tmp_path / "run" / "aligner"
    assert "Tuned to 300 sentence pairs" in (folder / "README.md").read_text()
    others = list(examples(50, seed=10))

    def error_rate(folder: Path, fast: bool) -> float:
        found = list(Aligner(folder, fast=fast).align([(one.english, one.made_up) for one in others]))
        right = sum(len(links.links & one.links) for links, one in zip(found, others, strict=True))
        return 1 - 2 * right / sum(len(links.links) + len(one.links) for links, one in zip(found, others, strict=True))

    assert error_rate(model, fast=False) > 0.7
    assert error_rate(folder, fast=False) < 0.45
    assert error_rate(folder, fast=True) < error_rate(model, fast=True) - 0.1


def test_what_is_finished_is_not_done_again_unless_forced(model: Path, text: Corpus, tmp_path: Path) -> None:
    run = tmp_path / "run"

    def stamps() -> list[int]:
        return [(run / part / "weights.safetensors").stat().st_mtime_ns for part in ("tune", "fast")]

    tune(model, text, run, SHORT, PROCESS)
    before = stamps()
    tune(model, text, run, SHORT, PROCESS)
    assert stamps() == before
    tune(model, text, run, SHORT, PROCESS, force=True)
    assert min(stamps()) > max(before)


def test_another_text_or_model_does_not_get_the_old_result(model: Path, text: Corpus, tmp_path: Path) -> None:
    run = tmp_path / "run"
    tune(model, text, run, SHORT, PROCESS)
    before = (run / "aligner" / "README.md").read_text()
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{source}\t{target}\n" for source, target in sentence_pairs(300, seed=11)))
    with pytest.raises(WeftError, match=r"made with text = '\w+', but now it is '\w+'.*--force"):
        tune(model, Corpus(files=(str(other),)), run, SHORT, PROCESS)
    assert (run / "aligner" / "README.md").read_text() == before
    tune(model, Corpus(files=(str(other),)), run, SHORT, PROCESS, force=True)


def test_only_the_first_process_writes(
    model: Path, text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(model, text, tmp_path / "run", SHORT, PROCESS)
    shutil.rmtree(tmp_path / "run" / "aligner")
    monkeypatch.setattr(Process, "wait", lambda self: None)
    second = Process(1, 2, torch.device("cpu"))
    assert tune(model, text, tmp_path / "run", SHORT, second) == tmp_path / "run" / "aligner"
    assert not (tmp_path / "run" / "aligner").exists()


def test_a_plan_is_said(model: Path, text: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tune(model, text, tmp_path / "run", SHORT, PROCESS)
    said = capsys.readouterr().err
    assert re.search(
        r"tuning to 300 sentence pairs with \d+ new pieces of words: 3 updates, and as many of the fast .* 1 min", said
    )


def test_text_without_pairs_and_damaged_models_are_refused(model: Path, text: Corpus, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\nonly one side\t\n")
    with pytest.raises(WeftError, match=r"empty\.tsv: 0 sentence pairs with words on both sides are too few"):
        tune(model, Corpus(files=(str(empty),)), tmp_path / "run", CONFIG, PROCESS)
    empty.write_text("one\tother\n" * 99)
    with pytest.raises(WeftError, match=r"99 sentence pairs .* are too few to learn from; it takes 100"):
        tune(model, Corpus(files=(str(empty),)), tmp_path / "run", CONFIG, PROCESS)
    empty.write_text("one\tother\nonly one side\n")
    with pytest.raises(WeftError, match=r"empty\.tsv:2: expected two columns.* leave it out$"):
        tune(model, Corpus(files=(str(empty),)), tmp_path / "run", CONFIG, PROCESS)
    weights = model / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(WeftError, match="damaged or truncated"):
        tune(model, text, tmp_path / "run", CONFIG, PROCESS)


def test_a_whole_system_cannot_be_tuned(model: Path, text: Corpus, tmp_path: Path) -> None:
    (model / "config.json").write_text(json.dumps({"format": "weft alignment system 1"}))
    with pytest.raises(WeftError, match="not of the format 'weft aligner 2'"):
        tune(model, text, tmp_path / "run", CONFIG, PROCESS)
