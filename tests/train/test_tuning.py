"""Tuning a small aligner to other text: it learns its words, and what comes out is an aligner again."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_runs import TRAINING, corrected_pairs

from weft.align.onnx_aligner import Aligner
from weft.config import EncoderConfig, TuneConfig
from weft.corpus.made_up import examples, sentence_pairs
from weft.corpus.prepared import PreparedCorpus, Side
from weft.errors import WeftError
from weft.links import LinkLine
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.storage import used_alone
from weft.text.reading import Corpus
from weft.train import tuning, tuning_text, word_statistics
from weft.train.corrected_pairs import CorrectedPair
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


def test_what_an_aligner_knows_stays(
    model: Path, text: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_statistics, "_KNOWN", 0.0)
    pairs = list(sentence_pairs(50, seed=10))

    def kept(run: str) -> float:
        """The share of its links before that an aligner has after tuning."""
        tuned = Aligner(tune(model, text, tmp_path / run, dataclasses.replace(CONFIG, merges=0), PROCESS))
        before, after = ([one.links for one in aligner.align(pairs)] for aligner in (Aligner(model), tuned))
        return sum(len(one & other) for one, other in zip(before, after, strict=True)) / sum(map(len, before))

    half = kept("half")
    assert "the aligner knows this language: it keeps 50%" in capsys.readouterr().err
    monkeypatch.setattr(tuning, "_KEPT", 1.0)
    assert kept("all") > max(0.8, half + 0.2)


def share_of_right_links(folder: Path, pairs: list[CorrectedPair]) -> float:
    found = Aligner(folder).align([(pair.source, pair.target) for pair in pairs])
    return sum(len(one.links & pair.links.sure) for one, pair in zip(found, pairs, strict=True)) / sum(
        len(pair.links.sure) for pair in pairs
    )


def test_corrected_links_are_learned_without_other_text(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = corrected_pairs(150, seed=9)
    folder = tune(model, None, tmp_path / "run", CONFIG, PROCESS, corrected=pairs)
    assert "tuning to 150 sentence pairs (150 with corrected links) with" in capsys.readouterr().err
    assert "Tuned to 150 sentence pairs (150 with corrected links)." in (folder / "README.md").read_text()
    shares = [share_of_right_links(aligner, corrected_pairs(50, seed=10)) for aligner in (model, folder)]
    assert shares[0] < 0.3 and shares[1] > 0.6, shares


def test_corrected_links_are_learned_where_all_else_stays(
    model: Path, text: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_statistics, "_KNOWN", 0.0)
    monkeypatch.setattr(tuning, "_KEPT", 1.0)
    pairs = corrected_pairs(100, seed=12)
    folder = tune(model, text, tmp_path / "run", dataclasses.replace(CONFIG, merges=0), PROCESS, corrected=pairs)
    shares = [share_of_right_links(aligner, pairs) for aligner in (model, folder)]
    assert shares[1] > shares[0] + 0.05, shares


def test_other_corrections_do_not_get_the_old_result(model: Path, tmp_path: Path) -> None:
    pairs = corrected_pairs(100, seed=9)
    tune(model, None, tmp_path / "run", SHORT, PROCESS, corrected=pairs)
    pairs[0] = pairs[0]._replace(links=LinkLine("", frozenset(), frozenset()))
    with pytest.raises(WeftError, match="made with text = "):
        tune(model, None, tmp_path / "run", SHORT, PROCESS, corrected=pairs)


def test_a_few_corrections_need_other_text(model: Path, text: Corpus, tmp_path: Path) -> None:
    pairs = corrected_pairs(19, seed=9)
    with pytest.raises(WeftError, match=r"^--corrected: has too few .*: 19; .* or 20 with corrected links$"):
        tune(model, None, tmp_path / "run", SHORT, PROCESS, corrected=pairs)
    tune(model, text, tmp_path / "run", SHORT, PROCESS, corrected=pairs)


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


def test_two_tunings_do_not_share_a_folder(model: Path, text: Corpus, tmp_path: Path) -> None:
    refused = pytest.raises(WeftError, match="run: another process is tuning in this folder")
    with used_alone(tmp_path / "run", "tuning"), refused:
        tune(model, text, tmp_path / "run", SHORT, PROCESS, force=True)


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


def test_a_small_text_is_not_gone_through_for_ever(
    model: Path, text: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning_text, "_MOST_EPOCHS", 1)
    tune(model, text, tmp_path / "run", CONFIG, PROCESS)
    said = capsys.readouterr().err
    assert "300 sentence pairs are few" in said
    found = re.search(r"(\d+) updates, and as many", said)
    assert found is not None and 1 < int(found[1]) < 10
    log = (tmp_path / "run" / "tune" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["update"] <= int(found[1])


def test_memory_limits_the_number_of_pairs(
    model: Path, text: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning_text, "_MOST_CELLS", 20_000)
    seen: list[int] = []
    count = tuning.word_posteriors
    monkeypatch.setattr(
        tuning, "word_posteriors", lambda sides, *rest: seen.append(cells_of(sides)) or count(sides, *rest)
    )
    tune(model, text, tmp_path / "run", SHORT, PROCESS)
    pairs = re.search(r"tuning to (\d+) sentence pairs", capsys.readouterr().err)
    assert pairs is not None and 100 < int(pairs[1]) < 250 and 16_000 < seen[0] < 24_000
    monkeypatch.undo()
    monkeypatch.setattr(tuning_text, "_MOST_PAIRS", 200)
    tune(model, text, tmp_path / "other", dataclasses.replace(SHORT, pairs=0), PROCESS)
    assert "Tuned to 200 sentence pairs" in (tmp_path / "other" / "aligner" / "README.md").read_text()


def cells_of(sides: tuple[Side, Side]) -> int:
    return int((sides[0].lengths * sides[1].lengths).sum())


PHASES = {
    "reading": "weft.text.reading.Corpus.blocks",
    "counting": "weft.train.word_statistics._between_words",
    "maximising": "weft.train.word_statistics.hidden_markov",
    "learning": "weft.train.tuning.TuneTask.taught",
    "writing": "weft.train.tuning.save_aligner",
}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("phase", PHASES)
def test_signals_end_every_phase_at_once(
    model: Path, text: Corpus, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    code = (
        "import os, sys, time; from unittest import mock; from weft.cli import main; import weft.train.tuning\n"
        "wait = lambda *_, **__: os.write(2, b'here\\n') and [time.sleep(0.1) for _ in range(6_000)]\n"
        "with mock.patch(sys.argv.pop(1), wait): main()"
    )
    command = ["tune", *text.files, "--model", str(model), "-o", str(tmp_path / "run"), "training.updates=2"]
    process = subprocess.Popen([sys.executable, "-c", code, PHASES[phase], *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while (line := process.stderr.readline()) != "here\n":
        assert line and process.poll() is None
    process.send_signal(number)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert rest == "stopped; the same command goes on from the last checkpoint\n"
    assert not (tmp_path / "run" / "aligner").exists()


def test_text_without_pairs_and_damaged_models_are_refused(model: Path, text: Corpus, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\nonly one side\t\n")
    with pytest.raises(WeftError, match=r"empty\.tsv: has too few sentence pairs with .* both sides: 0;"):
        tune(model, Corpus(files=(str(empty),)), tmp_path / "run", CONFIG, PROCESS)
    empty.write_text("one\tother\n" * 99 + "the same\tthe same\n" * 200)
    with pytest.raises(WeftError, match=r"has too few sentence pairs .*: 99; give 100 at least"):
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
    with pytest.raises(WeftError, match=r"not of a small aligner .*RUN/aligner"):
        tune(model, text, tmp_path / "run", CONFIG, PROCESS)
