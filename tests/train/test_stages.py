"""The stages on top of translation models: resuming, collapse, guided layers."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, equal
from torch import Tensor

import weft
from weft.align.model_folder import read_aligner
from weft.config import (
    AlignmentConfig,
    Direction,
    EncoderConfig,
    GuidedConfig,
    OptimisationConfig,
    RefineConfig,
    ScorerConfig,
)
from weft.corpus.made_up import examples
from weft.corpus.piece_links import PieceLinks
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem
from weft.model.translation import TranslationModel
from weft.recipe import GoldConfig, Recipe, load_recipe
from weft.storage import checksum_of
from weft.train import run as run_module
from weft.train.distributed import Process
from weft.train.report import BOTH_WAYS, read_gold_sets, read_report
from weft.train.run import Run, run_recipe
from weft.train.runlog import read_metrics
from weft.train.stage_align import train_alignment
from weft.train.stage_distil import train_fast, train_scorer
from weft.train.stage_guide import train_guided
from weft.train.stage_links import best_cells, corpus_links
from weft.train.stages import (
    Part,
    Parts,
    binding_settings,
    compare_settings,
    finish,
    is_finished,
    record_collapse,
)
from weft.train.task import Text

PROCESS = Process(0, 1, torch.device("cpu"))
SHORT = dataclasses.replace(TRAINING, updates=20, average=2)  # keeps the checkpoint before the last one
ALIGNMENT = AlignmentConfig(hidden=16, agreement=0.5, least_agreement=0.0, training=SHORT)
GUIDED = GuidedConfig(own_word=True, pairs=200, training=SHORT)
STEPS = OptimisationConfig(steps=2, step_size=0.3)


def models(corpus: PreparedCorpus) -> dict[Direction, TranslationModel]:
    torch.manual_seed(5)
    return {"forward": _model(corpus), "backward": _model(corpus)}


def _model(corpus: PreparedCorpus) -> TranslationModel:
    return TranslationModel(MODEL, len(corpus.subwords))


def new_system(corpus: PreparedCorpus, alignment: AlignmentConfig = ALIGNMENT) -> AlignmentSystem:
    return AlignmentSystem.on_top_of(models(corpus), corpus.subwords, alignment, STEPS, STEPS, GUIDED)


def layers(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "weights.safetensors")


def undo(folder: Path) -> None:
    """Take a finished part back to the checkpoint before its last."""
    (folder / "finished.json").unlink()
    (folder / "checkpoint-00000020.safetensors").unlink()


@pytest.fixture
def text(corpus: PreparedCorpus) -> Text:
    return Text.of(corpus, SHORT, GUIDED.pairs)


@pytest.fixture
def links(corpus: PreparedCorpus, text: Text, tmp_path: Path) -> PieceLinks:
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


def test_links_of_the_corpus_are_kept(links: PieceLinks, text: Text, corpus: PreparedCorpus, tmp_path: Path) -> None:
    counts = {pair: len(links[pair]) for pair in range(len(corpus))}
    for pair in text.rows.pairs.tolist():
        # min(n, m) links, unless attention is 0 there; all of them inside the sentences
        assert counts.pop(pair) == min(corpus.source.lengths[pair], corpus.target.lengths[pair])
        assert (links[pair] < [corpus.source.lengths[pair], corpus.target.lengths[pair]]).all()
    assert not any(counts.values())
    again = corpus_links(corpus, Text(never), never, tmp_path / "links", {"steps": 2}, PROCESS)
    assert (again.cells == links.cells).all()
    with pytest.raises(WeftError, match="made with steps = 2, but now it is 3"):
        corpus_links(corpus, text, never, tmp_path / "links", {"steps": 3}, PROCESS)


def never(*_: object) -> Any:
    raise AssertionError("this was finished, and nothing of it should be done again")


def test_guided_layers_learn_their_links(corpus: PreparedCorpus, text: Text, links: PieceLinks, tmp_path: Path) -> None:
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


@pytest.fixture
def recipe(corpus: PreparedCorpus, tmp_path: Path) -> Recipe:
    """All stages, a few updates each, with gold."""
    gold = list(examples(20, 9))
    for part, lines in (
        ("source", [" ".join(example.english) for example in gold]),
        ("target", [" ".join(example.made_up) for example in gold]),
        ("links", [" ".join(f"{s}-{t}" for s, t in sorted(example.links)) for example in gold]),
    ):
        (tmp_path / part).write_text("\n".join(lines) + "\n")
    few = dataclasses.replace(TRAINING, updates=2)
    return Recipe(
        run=str(tmp_path / "run"),
        prepared=str(corpus.folder),
        model=MODEL,
        training=few,
        alignment=dataclasses.replace(ALIGNMENT, training=few),
        optimisation=STEPS,
        bidirectional=STEPS,
        guided=dataclasses.replace(GUIDED, training=few),
        scorer=ScorerConfig(layers=1, pairs=100, training=few),
        gold=(GoldConfig(*(str(tmp_path / part) for part in ("source", "target", "links")), base=0),),
    )


def test_recipes_share_translation_models(recipe: Recipe, tmp_path: Path) -> None:
    folders = run_recipe(recipe)
    assert set(folders) == {"forward", "backward", "system", "aligner"}
    assert (tmp_path / "run" / "guide" / "weights.safetensors").exists()
    other = dataclasses.replace(
        recipe, run=str(tmp_path / "other"), translation=str(tmp_path / "run"), stages=("translate", "align")
    )
    assert run_recipe(other)["forward"] == folders["forward"]
    report = (tmp_path / "other" / "report.md").read_text()
    assert report.count("| attention of layer 1 |") == len(BOTH_WAYS)


def test_one_run_trains_several_teachers_and_refines_the_scorer(recipe: Recipe, tmp_path: Path) -> None:
    few = recipe.scorer.training
    scorer = dataclasses.replace(recipe.scorer, shared=True, refine=RefineConfig(lexicon=50, training=few))
    twice = dataclasses.replace(recipe, teachers=2, scorer=scorer)
    folders = run_recipe(twice)
    run = tmp_path / "run"
    assert folders["teacher 2"] == run / "teacher-2" / "model"
    assert not equal(layers(run / "guide"), layers(run / "teacher-2" / "guide"))
    report = read_report(run)
    assert report is not None
    assert set(report["seconds"]) == {"translate", "align", "links", "guide", "distil", "refine", "fast"}
    lines = {(line["system"], line["merge"]) for line in report["lines"]}
    assert {
        ("guided, teacher 2", "mean"),
        ("teachers", "mean"),
        ("scorer", "mean"),
        ("small aligner, fast", "mean"),
    } <= lines

    card = (run / "aligner" / "README.md").read_text()
    assert "learned from 2 systems" in card and f"weft {weft.__version__}" in card and "seed 1" in card
    for part in Parts(twice).all():
        assert part.state == "finished"
        assert f"| {part.name} | `{checksum_of(part.folder / part.result)[:16]}` |" in card
    assert "only to report the figures above" in card and "**Gold.**" in card
    assert read_aligner(run / "aligner").config.shared

    before = {path: path.stat().st_mtime_ns for path in run.rglob("finished.json")}
    (run / "teacher-2" / "guide" / "finished.json").unlink()  # as if it had been killed there
    run_recipe(twice)
    after = {path: path.stat().st_mtime_ns for path in run.rglob("finished.json")}
    assert {path for path in before if before[path] != after[path]} == {run / "teacher-2" / "guide" / "finished.json"}
    with pytest.raises(WeftError, match="made with origin"):  # another teacher is another scorer
        run_recipe(dataclasses.replace(twice, teachers=1))


def test_two_processes_reach_what_one_does(corpus: PreparedCorpus, tmp_path: Path) -> None:
    training = "updates = 4\ntarget_tokens = 800\nrow_length = 64\nwarm_up = 2\nlog_every = 2\n"
    path = tmp_path / "recipe.toml"
    path.write_text(
        f'run = "{tmp_path / "one"}"\nprepared = "{corpus.folder}"\n'
        "[model]\nwidth = 32\nfeed_forward = 64\nheads = 4\nencoder_layers = 1\ndecoder_layers = 1\n"
        f"[training]\n{training}[alignment]\nleast_agreement = 0.0\nhidden = 16\n[alignment.training]\n{training}"
        f"[guided]\npairs = 200\n[guided.training]\n{training}[scorer]\nlayers = 1\npairs = 200\n"
        f"[scorer.training]\n{training}"
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "weft.train"]
    settings = [str(path), f"run={tmp_path / 'two'}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*torchrun, *settings], check=True, capture_output=True, env=environment)
    run_recipe(load_recipe(path))
    for stage in ("align", "guide", "distil"):
        one, two = (read_metrics(tmp_path / run / stage / "metrics.jsonl") for run in ("one", "two"))
        assert [line["loss"] for line in two] == pytest.approx([line["loss"] for line in one], rel=2e-3)
    assert not list(tmp_path.glob("two/*.part-*"))


def test_force_starts_again(recipe: Recipe, tmp_path: Path) -> None:
    run_recipe(recipe)
    other = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, seed=2))
    with pytest.raises(WeftError, match=r"training\.seed = 1, but now it is 2"):
        run_recipe(other)
    before = layers(tmp_path / "run" / "guide")
    (tmp_path / "run" / "links.part-0.npy").touch()  # as a kill leaves it
    run_recipe(other, force=True)
    assert not equal(layers(tmp_path / "run" / "guide"), before)


def test_text_that_is_newer_than_its_corpus_is_named(
    recipe: Recipe, tmp_path: Path, text_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.tsv"
    text.write_bytes(text_file.read_bytes())
    few = dataclasses.replace(recipe.prepare, merges=50)
    own = dataclasses.replace(recipe, prepared="", files=(str(text),), prepare=few).until("translate")
    run_recipe(own)
    run_recipe(own)
    assert "is newer than this corpus" not in capsys.readouterr().err
    os.utime(text, (2e9, 2e9))
    run_recipe(own)
    assert f"{text} is newer than this corpus" in capsys.readouterr().err


def test_an_aligner_is_written_also_where_it_cannot_be_scored(
    recipe: Recipe, corpus: PreparedCorpus, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime")

    monkeypatch.setattr(run_module, "score_aligner", missing)
    run = Run(recipe, Parts(recipe), corpus, read_gold_sets(recipe), PROCESS)
    assert run._aligner_scores(Path("aligner"), fast=True) == []
    assert capsys.readouterr().err == "aligner: not scored: package 'onnxruntime' is missing\n"


def test_bad_gold_is_found_before_training(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n" * 19 + "77-0\n")
    with pytest.raises(WeftError, match=r"links:20: link 77-0"):
        run_recipe(recipe)
    (tmp_path / "links").write_text("0-0\n" * 19)
    with pytest.raises(WeftError, match=r"links has 19 lines but .*source has 20"):
        run_recipe(recipe)
    assert not (tmp_path / "run").exists()


def test_an_overview_says_how_far_each_part_is(recipe: Recipe, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert Parts(recipe.until("align")).overview().splitlines() == [
        "translate forward   to do",
        "translate backward  to do",
        "align               to do",
    ]
    run_recipe(recipe.until("align"))
    (run / "align" / "finished.json").unlink()
    assert Parts(recipe).overview().splitlines() == [
        "translate forward   finished",
        "translate backward  finished",
        "align               goes on from update 2",
        "links               to do",
        "guide               to do",
        "distil              to do",
        "fast                to do",
    ]
    others = Parts(dataclasses.replace(recipe, teachers=2)).overview().splitlines()
    assert "teacher 2: translate forward   to do" in others and "distil                         to do" in others


def test_seconds_are_those_of_the_attempt_that_succeeded(recipe: Recipe, tmp_path: Path) -> None:
    """Without training: the folders as a run leaves them, after alignment layers that collapsed once."""
    system, twice = Parts(recipe).systems[0], Parts(dataclasses.replace(recipe, teachers=2))
    seconds = {
        "translate forward": 30.0,
        "translate backward": 40.0,
        "links": 5.0,
        "guide": 6.0,
        "teacher 2: links": 7.0,
    }
    for part in twice.all():
        if part.name in seconds:
            finish(part.base, {}, seconds[part.name])
    finish(system.align.base, {}, 99.0)  # never so: it collapsed
    record_collapse(system.align.base, "all is lost")
    assert "align               to do" in Parts(recipe).overview()
    finish(tmp_path / "run" / "align-restart-1", {}, 8.0)
    assert "align               finished" in Parts(recipe).overview()
    found = twice.seconds()
    assert (found["translate"], found["align"], found["links"], found["guide"]) == (40.0, 8.0, 12.0, 6.0)


def test_force_forgets_restarts_and_teachers_but_not_borrowed_models(recipe: Recipe, tmp_path: Path) -> None:
    borrowing = dataclasses.replace(recipe, teachers=2, translation=str(tmp_path / "other"))
    kept = [tmp_path / "other" / "forward", tmp_path / "run" / "corpus"]
    gone = [tmp_path / "run" / name for name in ("align", "align-restart-1", "teacher-2/forward", "aligner", "model")]
    for folder in (*kept, *gone):
        folder.mkdir(parents=True)
    (tmp_path / "run" / "links.part-0.npy").touch()
    Parts(borrowing).forget()
    assert all(folder.exists() for folder in kept) and not any(folder.exists() for folder in gone)
    assert not list(tmp_path.rglob("*.part-*"))


def test_old_runs_have_the_defaults_of_new_settings(tmp_path: Path) -> None:
    now = {"corpus": "c", **binding_settings(training=TRAINING), "guided.positions": False}
    before = {name: value for name, value in now.items() if name not in {"guided.positions", "training.average"}}
    compare_settings(tmp_path, before, now)
    with pytest.raises(WeftError, match=r"made with guided\.positions = False, but now it is True"):
        compare_settings(tmp_path, before, now | {"guided.positions": True})
    compare_settings(tmp_path, now | {"scorer.teachers": [], "scorer.fast.width": 128}, now)  # gone, and had no effect
    for name, value in (("scorer.teachers", ["a"]), ("scorer.fast.width", 64), ("start", "abc")):
        with pytest.raises(WeftError, match=f"made with {name} = "):
            compare_settings(tmp_path, now | {name: value}, now)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "finished.json").write_text('{"settings": ')
    with pytest.raises(WeftError, match=r"finished\.json: damaged.*remove it"):
        is_finished(tmp_path, {})


@pytest.mark.parametrize("content", ['{"recipe": ', "[]", '{"recipe": {}}'])
def test_a_damaged_report_is_named(tmp_path: Path, content: str) -> None:
    assert read_report(tmp_path) is None
    (tmp_path / "report.json").write_text(content)
    with pytest.raises(WeftError, match=r"report\.json: damaged.*remove it"):
        read_report(tmp_path)
