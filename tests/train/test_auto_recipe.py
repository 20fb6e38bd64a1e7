"""Training on text without a recipe: choices by size, an estimate, a finished aligner."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from memory_files import tmx

from weft.align.onnx_aligner import load
from weft.config import PRESETS, CorpusConfig
from weft.corpus.made_up import sentence_pairs
from weft.errors import WeftError
from weft.recipe import find_recipe, load_recipe, overridden
from weft.train import estimate
from weft.train.auto_recipe import TextSize, own_recipe, recipe_for_text
from weft.train.estimate import training_minutes
from weft.train.stages import Kind

FEW = [f"{stage}training.updates=3" for stage in ("", "alignment.", "guided.", "scorer.")]
FEW += [f"{stage}training.target_tokens=600" for stage in ("", "alignment.", "guided.", "scorer.")]
FEW += ["alignment.least_agreement=0", "alignment.most_null=1"]  # nothing is learned in three updates


def weft(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "weft", *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    pairs = list(sentence_pairs(400, seed=3))
    files = tmp_path / "text.en", tmp_path / "text.xx"
    for side, file in enumerate(files):
        file.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return files


def test_less_text_gets_fewer_merges_and_more_dropout_and_a_cpu_a_smaller_model() -> None:
    sizes = [TextSize(pairs, 25 * pairs) for pairs in (5_000, 60_000, 1_000_000)]
    on_gpu = [recipe_for_text(["a.tsv"], "run", size, gpu=True) for size in sizes]
    assert [recipe.prepare.merges for recipe in on_gpu] == [4_000, 8_000, 16_000]
    assert [recipe.model.dropout for recipe in on_gpu] == [0.3, 0.2, 0.1]
    updates = [recipe.training.updates for recipe in on_gpu]
    assert updates == sorted(updates) and updates[-1] == 10_000
    assert {recipe_for_text(["a", "b"], "run", size, gpu=False).preset for size in sizes} == {"small"}


def test_the_estimate_counts_teachers_and_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "_matrix_speed", lambda device: 1e9)
    size = TextSize(60_000, 1_500_000)
    one = recipe_for_text(["a.tsv"], "run", size, gpu=True)
    refined = overridden(one, ["scorer.refine.training.updates=300"])
    two = dataclasses.replace(one, teachers=2)
    alone, fine, both = (
        training_minutes(recipe, size.pairs, size.pieces, torch.device("cpu")) for recipe in (one, refined, two)
    )
    assert all(minutes > 0 for minutes in alone.values()) and "refine" not in alone
    assert fine == alone | {"refine": fine["refine"]} and fine["refine"] > 0
    for kind in ("translate", "align", "links", "guide"):
        assert both[kind] == pytest.approx(2 * alone[kind])
    assert alone["distil"] < both["distil"] < 2 * alone["distil"] and both["fast"] == alone["fast"]
    more = TextSize(1_000_000, 25_000_000)
    longer = training_minutes(
        recipe_for_text(["a.tsv"], "run", more, gpu=True), more.pairs, more.pieces, torch.device("cpu")
    )
    assert longer["translate"] > alone["translate"]


def test_two_languages_of_a_memory(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx([[("fr", "un arbre"), ("en-GB", "a big tree"), ("de", "ein Baum")]] * 3))
    recipe = own_recipe([str(memory)], ['languages=["de", "en"]'])
    assert recipe.texts == (CorpusConfig(("de", "en"), (str(memory),)),)
    with pytest.raises(WeftError, match="more than two languages"):
        own_recipe([str(memory)], [])


def test_the_estimate_is_what_runs_on_a_gpu_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes on one H200, from the cards of the shipped aligners, within about half."""
    monkeypatch.setattr(estimate, "_matrix_speed", lambda device: 770e12)
    taken: dict[tuple[str, int], dict[Kind, float]] = {
        ("multi", 7_115_031): {"translate": 15.2, "align": 0.9, "guide": 1.6, "distil": 8.5, "fast": 2.9},
        ("ro-en", 204_848): {"translate": 3.5, "align": 0.8},  # it distilled before layers were compiled
    }
    for (name, pairs), minutes in taken.items():
        found = training_minutes(load_recipe(find_recipe(name)), pairs, 30 * pairs, torch.device("cuda"))
        for kind, expected in minutes.items():
            assert 0.8 * expected < found[kind] < 1.6 * expected, (name, kind)


def test_a_plan_is_said_and_nothing_is_done(text: tuple[Path, Path], tmp_path: Path) -> None:
    result = weft("train", *text, f"run={tmp_path / 'run'}", "--plan")
    assert result.returncode == 0 and not (tmp_path / "run").exists()
    assert "400 sentence pairs" in result.stderr and "about" in result.stderr and "preset small" in result.stderr
    assert "distil              to do" in result.stderr


def test_only_the_first_process_says_the_plan(
    text: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(file) for file in text]
    monkeypatch.setenv("RANK", "1")
    recipe = own_recipe(files, ["training.updates=7"])
    assert capsys.readouterr().err == "" and recipe.training.updates == 7
    monkeypatch.setenv("RANK", "0")
    assert own_recipe(files, ["training.updates=7"]) == recipe
    assert "400 sentence pairs" in capsys.readouterr().err


def test_two_files_become_an_aligner(text: tuple[Path, Path], tmp_path: Path) -> None:
    result = weft("train", *text, f"run={tmp_path / 'run'}", *FEW, "prepare.merges=100")
    assert result.returncode == 0, result.stderr
    (alignment,) = load(str(tmp_path / "run" / "aligner")).align([("the dog sees", "kuno-la vidas")])
    assert len(alignment.source) == 3 and 0 < alignment.score < 1
    again = weft("train", *text, f"run={tmp_path / 'run'}", *FEW, "prepare.merges=100")
    assert again.returncode == 0 and "finished" in again.stderr


def test_settings_are_put_over_the_choices() -> None:
    chosen = recipe_for_text(["a.tsv"], "run", TextSize(9_000, 90_000), gpu=False)
    changed = overridden(chosen, ["preset=tiny", "model.heads=2", "training.updates=7"])
    assert changed.model == dataclasses.replace(PRESETS["tiny"], heads=2, dropout=chosen.model.dropout)
    assert changed.training == dataclasses.replace(chosen.training, updates=7)
    assert changed.scorer == dataclasses.replace(chosen.scorer, layers=2)  # there are no more
    with pytest.raises(WeftError, match="preset must be one of"):
        overridden(chosen, ["preset=vast"])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give a recipe, or text"),
        (["a", "b", "c"], "give a recipe, or text"),
        (["none.tsv"], "none.tsv: no such file"),
        (["recipe.toml", "text.tsv"], "text.tsv: expected a setting"),
    ],
)
def test_what_is_neither(arguments: list[str], problem: str) -> None:
    result = weft("train", *arguments)
    assert result.returncode == 1 and problem in result.stderr and result.stderr.count("\n") == 1
