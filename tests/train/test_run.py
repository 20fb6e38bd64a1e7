"""Whole runs of recipes: shared models, several teachers, processes, new starts, and what is recorded of them."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_runs import ALIGNMENT, GUIDED, MODEL, PROCESS, STEPS, TRAINING, equal, layers

import weft
from weft.align.model_folder import read_aligner
from weft.config import (
    RefineConfig,
    ScorerConfig,
)
from weft.corpus.made_up import examples
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.recipe import GoldConfig, Recipe, load_recipe
from weft.storage import checksum_of, used_alone
from weft.train import run as run_module
from weft.train.report import BOTH_WAYS, read_gold_sets, read_report
from weft.train.run import Run, run_recipe
from weft.train.runlog import read_metrics
from weft.train.stages import (
    Parts,
    binding_settings,
    compare_settings,
    finish,
    is_finished,
    record_collapse,
)


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


def test_two_trainings_do_not_share_a_folder(recipe: Recipe) -> None:
    refused = pytest.raises(WeftError, match="run: another process is training in this folder")
    with used_alone(Path(recipe.run), "training"), refused:
        run_recipe(recipe, force=True)


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
