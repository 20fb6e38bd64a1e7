"""The stages on top of translation models: resuming, collapse, guided layers."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import ALIGNMENT, GUIDED, MODEL, PROCESS, SHORT, STEPS, equal, layers

from weft.config import (
    AlignmentConfig,
    Direction,
    EncoderConfig,
    RefineConfig,
    ScorerConfig,
)
from weft.corpus.prepared import PreparedCorpus
from weft.corpus.row_links import RowLinks
from weft.errors import WeftError
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem
from weft.model.translation import TranslationModel
from weft.storage import checksum_of
from weft.train.runlog import read_metrics
from weft.train.stage_align import train_alignment
from weft.train.stage_distil import train_fast, train_scorer
from weft.train.stage_guide import train_guided
from weft.train.stage_links import best_cells, corpus_links
from weft.train.stages import (
    Part,
)
from weft.train.task import Text


def models(corpus: PreparedCorpus) -> dict[Direction, TranslationModel]:
    torch.manual_seed(5)
    return {"forward": _model(corpus), "backward": _model(corpus)}


def _model(corpus: PreparedCorpus) -> TranslationModel:
    return TranslationModel(MODEL, len(corpus.subwords))


def new_system(corpus: PreparedCorpus, alignment: AlignmentConfig = ALIGNMENT) -> AlignmentSystem:
    return AlignmentSystem.on_top_of(models(corpus), corpus.subwords, alignment, STEPS, STEPS, GUIDED)


def undo(folder: Path) -> None:
    """Take a finished part back to the checkpoint before its last."""
    (folder / "finished.json").unlink()
    (folder / "checkpoint-00000020.safetensors").unlink()


@pytest.fixture
def text(corpus: PreparedCorpus, tmp_path: Path) -> Text:
    return Text.of(corpus, SHORT, tmp_path / "rows", PROCESS, GUIDED.pairs)


@pytest.fixture
def links(corpus: PreparedCorpus, text: Text, tmp_path: Path) -> RowLinks:
    extract = best_cells(partial(new_system(corpus).inference().bidirectional_attention, optimisation=STEPS))
    return corpus_links(corpus, text, extract, tmp_path / "links", {"steps": 2}, PROCESS)


def test_alignment_layers_go_on_where_they_were(corpus: PreparedCorpus, tmp_path: Path) -> None:
    part = Part("align", "align", tmp_path / "align", "weights.safetensors")
    folder = part.base

    def train(system: AlignmentSystem, origin: str = "models") -> None:
        train_alignment(system, corpus, part, {"origin": origin}, PROCESS)

    train(new_system(corpus))
    whole = layers(folder)
    losses = [line["forward_loss"] for line in read_metrics(folder / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    undo(folder)
    system = new_system(corpus)
    train(system)
    assert equal(layers(folder), whole)
    assert [line["forward_loss"] for line in read_metrics(folder / "metrics.jsonl")] == losses
    assert torch.equal(system.models["backward"].alignment.query.weight, whole["1.query.weight"])
    with pytest.raises(WeftError, match="origin = 'models', but now it is 'others'"):
        train(new_system(corpus), "others")


def test_collapsed_layers_are_trained_again_and_never_handed_on(
    corpus: PreparedCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = Part("align", "align", tmp_path / "align", "weights.safetensors")

    def train(**changes: Any) -> None:
        config = dataclasses.replace(ALIGNMENT, **changes)
        train_alignment(new_system(corpus, config), corpus, part, {"origin": "models"}, PROCESS)

    with pytest.raises(WeftError, match="collapsed in each of 2 attempts"):
        train(least_agreement=0.9, restarts=1)
    assert "the two directions agree on" in capsys.readouterr().err
    folders = [tmp_path / "align", tmp_path / "align-restart-1"]
    assert all((one / "collapsed.txt").exists() and not (one / "weights.safetensors").exists() for one in folders)
    assert part.state == "to do"
    with pytest.raises(WeftError, match="collapsed in each of 3 attempts"):  # goes on with the third
        train(most_null=1e-9, restarts=2)
    assert "on end-of-sentence" in (tmp_path / "align-restart-2" / "collapsed.txt").read_text()
    train(restarts=3)
    assert part.folder == tmp_path / "align-restart-3" and part.state == "finished"
    record = json.loads((part.folder / "finished.json").read_text())
    assert part.seconds == record["seconds"] > 0 and part.checksum in checksum_of(part.folder / part.result)


def test_links_of_the_corpus_are_kept(links: RowLinks, text: Text, corpus: PreparedCorpus, tmp_path: Path) -> None:
    assert len(links) == len(text.rows)
    pair = text.sample(PROCESS.device)
    for row in range(len(pair.source.ids)):
        sources, targets = (side.segments[row].tolist() for side in pair)
        sentences = [(sources[source], targets[target]) for source, target in links[row]]
        assert all(source == target >= 0 for source, target in sentences)  # within sentence pairs
        for sentence in range(max(sources) + 1):  # min(n, m) links, unless attention is 0 there
            words = min(sources.count(sentence), targets.count(sentence)) - 1
            assert sentences.count((sentence, sentence)) == words
    again = corpus_links(corpus, Text(never), never, tmp_path / "links", {"steps": 2}, PROCESS)
    assert (again.cells == links.cells).all() and not list(tmp_path.glob("links.part*"))
    with pytest.raises(WeftError, match="made with steps = 2, but now it is 3"):
        corpus_links(corpus, text, never, tmp_path / "links", {"steps": 3}, PROCESS)


def never(*_: object) -> Any:
    raise AssertionError("this was finished, and nothing of it should be done again")


def test_guided_layers_learn_their_links(corpus: PreparedCorpus, text: Text, links: RowLinks, tmp_path: Path) -> None:
    system = new_system(corpus)
    before = {name: value.clone() for name, value in system.models["forward"].translation.state_dict().items()}
    folder = tmp_path / "guide"
    train_guided(system, GUIDED, text, links, folder, {"origin": "links"}, PROCESS)
    metrics = read_metrics(folder / "metrics.jsonl")
    assert metrics[-1]["forward_loss"] < metrics[0]["forward_loss"]
    assert metrics[-1]["backward_loss"] < metrics[0]["backward_loss"]
    assert equal(system.models["forward"].translation.state_dict(), before)
    whole = layers(folder)
    undo(folder)
    train_guided(new_system(corpus), GUIDED, text, links, folder, {"origin": "links"}, PROCESS)
    assert equal(layers(folder), whole)
    undo(folder)
    with pytest.raises(
        WeftError, match="made with origin = 'links', but now it is 'others'"
    ):  # before anything is packed
        train_guided(new_system(corpus), GUIDED, Text(never), links, folder, {"origin": "others"}, PROCESS)
    train_guided(new_system(corpus), GUIDED, text, links, folder, {"origin": "links"}, PROCESS)
    again = new_system(corpus)
    train_guided(again, GUIDED, Text(never), links, folder, {"origin": "links"}, PROCESS)  # packs nothing
    guided = again.models["forward"].guided
    assert guided is not None and torch.equal(guided.query.weight, whole["0.query.weight"])


@pytest.mark.parametrize("shared", [False, True])
def test_a_scorer_learns_from_guided_layers(corpus: PreparedCorpus, text: Text, tmp_path: Path, shared: bool) -> None:
    config = ScorerConfig(layers=1, shared=shared, training=SHORT)

    def train(name: str, config: ScorerConfig, text: Text = text) -> Scorer:
        return train_scorer([new_system(corpus)], config, text, tmp_path / name, {"origin": "teacher"}, PROCESS)

    scorer = train("distil", config)
    metrics = read_metrics(tmp_path / "distil" / "metrics.jsonl")
    assert metrics[-1]["doubt"] < metrics[-1]["loss"] < metrics[0]["loss"]
    undo(tmp_path / "distil")
    assert equal(train("distil", config).state_dict(), scorer.state_dict())
    train("plain", dataclasses.replace(config, lexicon=0))
    assert read_metrics(tmp_path / "plain" / "metrics.jsonl")[0]["doubt"] != metrics[0]["doubt"]  # taught otherwise
    other = dataclasses.replace(config, fast=EncoderConfig(1, 8, 8, 2), refine=RefineConfig(lexicon=5))
    assert equal(train("distil", other, Text(never)).state_dict(), scorer.state_dict())  # they are not of the scorer
    narrow = train("narrow", dataclasses.replace(config, width=MODEL.width // 2, feed_forward=16))
    assert narrow.tables[0].embedding_dim == scorer.tables[0].embedding_dim // 2
    metrics = read_metrics(tmp_path / "narrow" / "metrics.jsonl")
    assert metrics[-1]["loss"] < metrics[0]["loss"]
    with pytest.raises(WeftError, match=f"made with scorer.shared = {shared}, but now it is {not shared}"):
        train("distil", dataclasses.replace(config, shared=not shared))


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns about itself
def test_compiled_scorers_learn_the_same(corpus: PreparedCorpus, text: Text, tmp_path: Path) -> None:
    losses = {}
    for wanted in ("no", "yes"):
        training = dataclasses.replace(SHORT, compile=wanted)
        config = ScorerConfig(layers=1, lexicon=0, training=training)
        scorer = train_scorer([new_system(corpus)], config, text, tmp_path / wanted, {}, PROCESS)
        fast = Scorer(EncoderConfig(1, 8, 8, 2), scorer)
        fast = train_fast("fast", scorer, fast, training, text, tmp_path / f"fast-{wanted}", {}, PROCESS)
        losses[wanted] = [
            line["loss"]
            for name in (wanted, f"fast-{wanted}")
            for line in read_metrics(tmp_path / name / "metrics.jsonl")
        ]
    assert losses["yes"] == pytest.approx(losses["no"], rel=2e-3)


@pytest.mark.parametrize("shared", [False, True])
def test_a_scorer_begins_as_the_encoders_of_its_teacher(
    corpus: PreparedCorpus, text: Text, tmp_path: Path, shared: bool
) -> None:
    system = new_system(corpus)
    config = ScorerConfig(layers=1, shared=shared, lexicon=0, training=dataclasses.replace(SHORT, learning_rate=1e-9))
    scorer = train_scorer([system], config, text, tmp_path / "distil", {}, PROCESS)
    directions: tuple[Direction, Direction] = ("forward", "forward" if shared else "backward")
    for encoder, direction in zip(scorer.encoders, directions, strict=True):
        begun = system.models[direction].translation.encoder[0].state_dict()
        for name, weight in encoder.layers[0].state_dict().items():
            torch.testing.assert_close(weight, begun[name], atol=1e-6, rtol=0)
