"""The stages on top of translation models: resuming, collapse, guided layers."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, equal
from torch import Tensor

from weft.config import AlignmentConfig, Direction, GuidedConfig, OptimisationConfig, ScorerConfig
from weft.corpus.made_up import examples
from weft.corpus.packing import PackedRows, pack
from weft.corpus.piece_links import PieceLinks
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.system import AlignmentSystem
from weft.model.translation import TranslationModel
from weft.recipe import GoldConfig, Recipe, load_recipe
from weft.train.distributed import Process
from weft.train.report import BOTH_WAYS, read_report
from weft.train.run import overview, run_recipe
from weft.train.runlog import read_metrics
from weft.train.stage_align import train_alignment
from weft.train.stage_distil import train_scorer
from weft.train.stage_guide import train_guided
from weft.train.stage_links import best_cells, corpus_links

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


@pytest.fixture
def packed(corpus: PreparedCorpus) -> PackedRows:
    return pack(corpus.source, corpus.target, SHORT.row_length, SHORT.seed, most=GUIDED.pairs)


@pytest.fixture
def links(corpus: PreparedCorpus, packed: PackedRows, tmp_path: Path) -> PieceLinks:
    extract = best_cells(partial(new_system(corpus).inference().bidirectional_attention, optimisation=STEPS))
    return corpus_links(corpus, packed, extract, tmp_path / "links", {"steps": 2}, PROCESS)


def test_alignment_layers_go_on_where_they_were(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "align"
    train_alignment(new_system(corpus), corpus, folder, "models", PROCESS)
    whole = layers(folder)
    losses = [line["forward_loss"] for line in read_metrics(folder / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    (folder / "weights.safetensors").unlink()
    (folder / "checkpoint-00000020.safetensors").unlink()
    system = new_system(corpus)
    train_alignment(system, corpus, folder, "models", PROCESS)
    assert equal(layers(folder), whole)
    assert [line["forward_loss"] for line in read_metrics(folder / "metrics.jsonl")] == losses
    assert torch.equal(system.models["backward"].alignment.query.weight, whole["1.query.weight"])
    with pytest.raises(WeftError, match="translation = 'models', but now it is 'others'"):
        train_alignment(new_system(corpus), corpus, folder, "others", PROCESS)


def test_collapsed_layers_are_trained_again_and_never_handed_on(
    corpus: PreparedCorpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "align"
    strict = dataclasses.replace(ALIGNMENT, least_agreement=0.9, restarts=1)
    with pytest.raises(WeftError, match="collapsed in each of 2 attempts"):
        train_alignment(new_system(corpus, strict), corpus, folder, "models", PROCESS)
    assert "the two directions agree on" in capsys.readouterr().err
    folders = [folder, tmp_path / "align-restart-1"]
    assert all((one / "collapsed.txt").exists() and not (one / "weights.safetensors").exists() for one in folders)
    greedy = dataclasses.replace(ALIGNMENT, most_null=1e-9, restarts=2)
    with pytest.raises(WeftError, match="collapsed in each of 3 attempts"):  # goes on with the third
        train_alignment(new_system(corpus, greedy), corpus, folder, "models", PROCESS)
    assert "on end-of-sentence" in (tmp_path / "align-restart-2" / "collapsed.txt").read_text()
    patient = dataclasses.replace(ALIGNMENT, restarts=3)
    file = train_alignment(new_system(corpus, patient), corpus, folder, "models", PROCESS)
    assert file == tmp_path / "align-restart-3" / "weights.safetensors" and file.exists()


def test_links_of_the_corpus_are_kept(links: PieceLinks, packed: PackedRows, corpus: PreparedCorpus) -> None:
    counts = {pair: len(links[pair]) for pair in range(len(corpus))}
    for pair in packed.pairs.tolist():
        # min(n, m) links, unless attention is 0 there; all of them inside the sentences
        assert counts.pop(pair) == min(corpus.source.lengths[pair], corpus.target.lengths[pair])
        assert (links[pair] < [corpus.source.lengths[pair], corpus.target.lengths[pair]]).all()
    assert not any(counts.values())


def test_guided_layers_learn_their_links(
    corpus: PreparedCorpus, packed: PackedRows, links: PieceLinks, tmp_path: Path
) -> None:
    system = new_system(corpus)
    before = {name: value.clone() for name, value in system.models["forward"].translation.state_dict().items()}
    file = train_guided(system, GUIDED, packed, links, tmp_path / "guide", "links", PROCESS)
    metrics = read_metrics(file.parent / "metrics.jsonl")
    assert metrics[-1]["forward_loss"] < metrics[0]["forward_loss"]
    assert metrics[-1]["backward_loss"] < metrics[0]["backward_loss"]
    assert equal(system.models["forward"].translation.state_dict(), before)
    whole = layers(file.parent)
    file.unlink()
    (file.parent / "checkpoint-00000020.safetensors").unlink()
    train_guided(new_system(corpus), GUIDED, packed, links, tmp_path / "guide", "links", PROCESS)
    assert equal(layers(file.parent), whole)


def test_a_scorer_learns_from_guided_layers(corpus: PreparedCorpus, packed: PackedRows, tmp_path: Path) -> None:
    config = ScorerConfig(layers=1, training=SHORT)
    scorer = train_scorer([new_system(corpus)], config, packed, tmp_path / "distil", "teacher", PROCESS)
    metrics = read_metrics(tmp_path / "distil" / "metrics.jsonl")
    assert metrics[-1]["doubt"] < metrics[-1]["loss"] < metrics[0]["loss"]
    (tmp_path / "distil" / "weights.safetensors").unlink()
    (tmp_path / "distil" / "checkpoint-00000020.safetensors").unlink()
    again = train_scorer([new_system(corpus)], config, packed, tmp_path / "distil", "teacher", PROCESS)
    assert equal(again.state_dict(), scorer.state_dict())
    plain = dataclasses.replace(config, lexicon=0)
    train_scorer([new_system(corpus)], plain, packed, tmp_path / "plain", "teacher", PROCESS)
    assert read_metrics(tmp_path / "plain" / "metrics.jsonl")[0]["doubt"] != metrics[0]["doubt"]  # taught otherwise
    with pytest.raises(WeftError, match=r"scorer\.layers is 2, but the translation models have 1"):
        train_scorer([new_system(corpus)], ScorerConfig(layers=2), packed, tmp_path / "deep", "teacher", PROCESS)


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
        guided=dataclasses.replace(GUIDED, rounds=2, training=few),
        scorer=ScorerConfig(layers=1, pairs=100, training=few),
        gold=GoldConfig(*(str(tmp_path / part) for part in ("source", "target", "links")), base=0),
    )


def test_recipes_share_translation_models(recipe: Recipe, tmp_path: Path) -> None:
    folders = run_recipe(recipe)
    assert set(folders) == {"forward", "backward", "system", "aligner"}
    assert (tmp_path / "run" / "guide-2" / "weights.safetensors").exists()
    other = dataclasses.replace(
        recipe, run=str(tmp_path / "other"), translation=str(tmp_path / "run"), stages=("translate", "align")
    )
    assert run_recipe(other)["forward"] == folders["forward"]
    report = (tmp_path / "other" / "report.md").read_text()
    assert report.count("| attention of layer 1 |") == len(BOTH_WAYS)


def test_a_scorer_can_have_several_teachers(recipe: Recipe, tmp_path: Path) -> None:
    folders = run_recipe(dataclasses.replace(recipe, stages=("translate", "align", "guide")))
    scorer = dataclasses.replace(recipe.scorer, teachers=(str(folders["system"]),))
    twice = dataclasses.replace(recipe, run=str(tmp_path / "twice"), translation=recipe.run, scorer=scorer)
    run_recipe(twice)
    report = read_report(tmp_path / "twice")
    assert report is not None
    lines = {(line["system"], line["merge"]): line for line in report["lines"]}
    for merge in ("forward", "backward", "mean"):  # the other teacher is the same system
        assert lines["teachers", merge]["counts"] == lines["guided", merge]["counts"]
    stranger = dataclasses.replace(scorer, teachers=(str(folders["forward"]),))
    with pytest.raises(WeftError, match="not of the format"):
        run_recipe(dataclasses.replace(twice, scorer=stranger))


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
    for stage in ("align", "guide-1", "distil"):
        one, two = (read_metrics(tmp_path / run / stage / "metrics.jsonl") for run in ("one", "two"))
        assert [line["loss"] for line in two] == pytest.approx([line["loss"] for line in one], rel=2e-3)
    assert not list(tmp_path.glob("two/*.part-*"))


def test_force_starts_again(recipe: Recipe, tmp_path: Path) -> None:
    run_recipe(recipe)
    other = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, seed=2))
    with pytest.raises(WeftError, match=r"training\.seed = 1, but now it is 2"):
        run_recipe(other)
    before = layers(tmp_path / "run" / "guide-2")
    (tmp_path / "run" / "links-1.part-0.npy").touch()  # as a kill leaves it
    run_recipe(other, force=True)
    assert not equal(layers(tmp_path / "run" / "guide-2"), before)


def test_bad_gold_is_found_before_training(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "links").write_text("0-0\n" * 19 + "77-0\n")
    with pytest.raises(WeftError, match=r"links:20: link 77-0"):
        run_recipe(recipe)
    (tmp_path / "links").write_text("0-0\n" * 19)
    with pytest.raises(WeftError, match=r"links has 19 lines but .*source has 20"):
        run_recipe(recipe)
    assert not (tmp_path / "run").exists()


def test_an_overview_says_how_far_each_stage_is(recipe: Recipe, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert overview(recipe, run).splitlines()[:3] == [
        "translate forward   to do",
        "translate backward  to do",
        "align               to do",
    ]
    run_recipe(recipe.until("align"))
    (run / "align" / "weights.safetensors").unlink()
    assert overview(recipe, run).splitlines() == [
        "translate forward   finished",
        "translate backward  finished",
        "align               goes on from update 2",
        "links 1             to do",
        "guide 1             to do",
        "links 2             to do",
        "guide 2             to do",
        "distil              to do",
        "distil fast         to do",
    ]
