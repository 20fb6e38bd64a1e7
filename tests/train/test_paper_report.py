"""The paper's experiments in miniature."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from weft.corpus.made_up import examples
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.links import format_links
from weft.recipe import find_recipe, load_recipe
from weft.train.paper_experiments import load_experiments, recipes
from weft.train.paper_report import _Scores

ROOT = Path(__file__).parents[2]
_FEW = "updates = 4\ntarget_tokens = 800\nrow_length = 64\nwarm_up = 2\nlog_every = 2\n"


@pytest.fixture
def experiments(corpus: PreparedCorpus, tmp_path: Path) -> Path:
    """A file for one tiny language pair, with another aligner that knows the gold links."""
    gold = list(examples(12, seed=3))
    for name, lines in (
        ("source", [" ".join(one.english) for one in gold]),
        ("target", [" ".join(one.made_up) for one in gold]),
        ("links", [format_links(one.links) for one in gold]),
    ):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "paper.toml").write_text(
        f'run = "{tmp_path / "run"}"\nprepared = "{corpus.folder}"\nstages = ["translate", "align", "guide"]\n'
        "[model]\nwidth = 32\nfeed_forward = 64\nheads = 4\nencoder_layers = 1\ndecoder_layers = 1\n"
        f"[training]\n{_FEW}[alignment]\nleast_agreement = 0.0\nhidden = 16\n[alignment.training]\n{_FEW}"
        f"[guided]\npairs = 100\n[guided.training]\n{_FEW}"
    )
    path = tmp_path / "experiments.toml"
    path.write_text(
        f'output = "{tmp_path / "report"}"\nnote = "A note."\n'
        f'[[pairs]]\nname = "de-en"\nremarks = "A remark."\nrecipe = "{tmp_path / "paper.toml"}"\n'
        f'settings = ["gold.source={tmp_path / "source"}", "gold.target={tmp_path / "target"}", '
        f'"gold.links={tmp_path / "links"}", "gold.base=0"]\n'
        f'[[pairs.others]]\nname = "an oracle"\nforward = "{tmp_path / "links"}"\nbackward = "{tmp_path / "links"}"\n'
        'paper = "giza-words"\nprogram = "oracle"\n'
    )
    (tmp_path / "scores.jsonl").write_text('{"system": "oracle", "seconds": 90.0, "cpu_seconds": 180.0}\n')
    return path


def test_one_command_makes_all_experiments_once(experiments: Path, tmp_path: Path) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "weft", "experiments", str(experiments)]
        return subprocess.run(command, capture_output=True, text=True)

    first = run()
    assert first.returncode == 0, first.stderr
    report = (tmp_path / "report" / "README.md").read_text()
    for part in ("All systems", "Contiguity", "kernel", "Merging", "Does the paper's order hold", "Paired", "Seconds"):
        assert part in report
    assert "| an oracle | 0.0 (100/100) [20.9 (86/72)] | 0.0 (100/100) [23.1 (87/69)] | 0.0 (100/100)" in report
    assert "| an oracle: 90 s in all |  |  |  |  |  |  |  | 0.05 of CPU | CPU |" in report
    assert "A note." in report and "A remark." in report
    assert "[21.5 (76/81)]" in report and "[34.2]" in report  # the paper's figures
    (optimised,) = (line for line in report.splitlines() if line.startswith("| attention optimisation, λ = 0 |"))
    assert optimised.count("[") == 1 and optimised.endswith(" [22.7] |")  # of layers trained with contiguity loss
    assert (tmp_path / "report" / "de-en-steps.png").stat().st_size > 10_000

    stored = json.loads((tmp_path / "run" / "report.json").read_text())
    del stored["recipe"]["guided"]["positions"]  # as if it were older than this setting
    stored["recipe"]["scorer"]["layers"] = 5  # nothing was distilled
    (tmp_path / "run" / "report.json").write_text(json.dumps(stored))
    again = run()
    assert again.stderr.splitlines() == [f"{tmp_path / 'report' / 'README.md'}: the report"]  # nothing was trained
    assert (tmp_path / "report" / "README.md").read_text() == report


def test_a_score_that_a_report_lacks_is_an_error() -> None:
    line = {"system": "guided", "merge": "mean", "counts": [[1, 1, 1, 1]]}
    scores = _Scores({"recipe": {"run": "runs/here"}, "lines": [line]})
    assert scores["guided", "mean"].aer == 0
    with pytest.raises(
        WeftError, match="runs/here: its report has no score of 'small aligner' by 'mean'; run its recipe"
    ):
        scores["small aligner", "mean"]


def test_the_shipped_experiments_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for pair in load_experiments(find_recipe("reproduction"), ()).pairs:
        assert recipes(pair)["zenkel-2019"].gold[0].links == f"data/{pair.name}/dev.gold"
        best = load_recipe(find_recipe(pair.best), pair.settings).run
        own = pair.name == "de-en"  # trains its own translation models, with the paper's budget
        assert recipes(pair)["paper"].translation == ("" if own else best)


def test_every_system_has_its_own_run_and_the_same_translation_models(experiments: Path, tmp_path: Path) -> None:
    (pair,) = load_experiments(experiments, ()).pairs
    found = recipes(pair)
    assert len({recipe.run for recipe in found.values()}) == 2
    assert found["zenkel-2019"].translation == str(tmp_path / "run")
    assert found["zenkel-2019"].alignment.contiguity == found["zenkel-2019"].bidirectional.contiguity == 0
