"""The paper's experiments for one language pair: its systems trained by recipes, and sweeps over their settings.

Everything is kept in the folders of the runs, and nothing is done twice: systems by ``run_recipe``, sweeps in a file
beside the report of their run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from weft.config import Merge, OptimisationConfig
from weft.config_io import from_dict, read_toml, to_dict
from weft.errors import WeftError
from weft.model.system import AlignmentSystem
from weft.progress import Progress
from weft.recipe import CardConfig, Recipe, Stage, find_recipe, load_recipe
from weft.storage import write_json
from weft.train.report import BOTH_WAYS, Gold, read_gold_sets, read_report, read_results, score_system
from weft.train.run import run_recipe
from weft.train.stages import MODEL

MOST_STEPS = 10
WEIGHTS_IN_ONE_DIRECTION = (0.0, 1.0)  # λ of the contiguity loss
WEIGHTS_IN_TWO = (0.0, 1.0, 2.0, 5.0)
KERNELS = (1, 2, 3, 4, 5)
PAPER, ZENKEL, BEST = "paper", "zenkel-2019", "best"
_NO_CONTIGUITY = tuple(f"{table}.contiguity=0" for table in ("alignment", "optimisation", "bidirectional"))
_SYSTEMS = {  # what each system of the paper's tables changes of the recipe of the paper's own method
    PAPER: (),
    ZENKEL: ('stages=["translate", "align"]', *_NO_CONTIGUITY),
}
_TABLES: dict[Stage, str] = {"align": "alignment", "guide": "guided", "distil": "scorer"}
MERGED: tuple[Merge, ...] = (*BOTH_WAYS, "grow-diag-final", "lilt-grow-diag-final")
Figures = list[dict[str, Any]]


@dataclass(frozen=True)
class OtherAligner:
    """Links of another aligner for the gold sentences, zero-based."""

    name: str
    forward: str
    backward: str
    """Source word first, as in the other file."""
    paper: str = ""
    """Its name in the paper's figures, if it is there."""
    program: str = ""
    """Its name in scores.jsonl beside the links, as benchmarks/baselines.py writes it, to report its time."""


@dataclass(frozen=True)
class PairConfig:
    """One language pair."""

    name: str
    recipe: str
    """The recipe of the paper's method."""
    best: str = ""
    """The recipe of the best system, whose finished run is reported beside the others."""
    settings: tuple[str, ...] = ()
    """Put over both recipes, such as gold.source=dev.src."""
    others: tuple[OtherAligner, ...] = ()
    remarks: str = ""
    """What was found if the paper's order does not hold."""


@dataclass(frozen=True)
class ExperimentsConfig:
    """``weft experiments FILE.toml``."""

    pairs: tuple[PairConfig, ...]
    output: str = "docs/reproduction"
    """Folder of the report."""
    figures: str = "paper-figures"
    """The paper's own figures."""
    note: str = ""
    """What readers must know to compare the figures."""


def load_experiments(path: Path, settings: Sequence[str]) -> ExperimentsConfig:
    """Read a TOML file of experiments."""
    return from_dict(ExperimentsConfig, read_toml(path, settings), str(path))


def recipes(pair: PairConfig) -> dict[str, Recipe]:
    """Return the recipe of every system of the paper's tables; they share translation models and text."""
    base = load_recipe(find_recipe(pair.recipe), pair.settings)
    found = {}
    for name, changes in _SYSTEMS.items():
        places = () if name == PAPER else (f"run={base.run}/{name}", f"translation={base.translation or base.run}")
        found[name] = load_recipe(find_recipe(pair.recipe), [*pair.settings, *changes, *places])
    return found


@dataclass(frozen=True)
class PairResults:
    """All figures of one language pair."""

    config: PairConfig
    gold: Gold
    reports: dict[str, dict[str, Any]]
    """The report of each system's run, and of ``best`` if that is finished."""
    sweeps: dict[str, Figures]


def run_pair(pair: PairConfig) -> PairResults:
    """Train what is not trained, sweep what is not swept."""
    reports, sweeps = {}, {}
    systems = recipes(pair)
    sets = read_gold_sets(systems[PAPER])
    if len(sets) != 1:
        raise WeftError(f"{pair.recipe}: has {len(sets)} sets of gold; the tables are of one")
    gold = sets[0]
    for name, recipe in systems.items():
        reports[name] = _report(recipe)
        if "align" in recipe.stages:
            sweeps[name] = sweep(recipe, gold)
    best = read_report(Path(load_recipe(find_recipe(pair.best), pair.settings).run)) if pair.best else None
    return PairResults(pair, gold, reports | ({BEST: best} if best else {}), sweeps)


def _report(recipe: Recipe) -> dict[str, Any]:
    """Return the report of a run, which is made if there is none with this recipe."""
    known = read_report(Path(recipe.run))
    if known is None or not _made_by(recipe, known, recipe.stages):
        run_recipe(recipe)
        known = read_report(Path(recipe.run))
    if known is None:
        raise WeftError(f"{recipe.run}: no scores; the recipe needs a table [gold]")
    return known


def _made_by(recipe: Recipe, known: dict[str, Any], stages: tuple[Stage, ...]) -> bool:
    """Tell whether a stored result is that of some stages of a recipe.

    Settings of other stages do not count, and settings newer than the result had their defaults then.
    """

    def counting(one: Recipe) -> Recipe:
        others = {table for stage, table in _TABLES.items() if stage not in stages}
        changed = {table: type(getattr(one, table))() for table in others}
        return dataclasses.replace(one, stages=stages, card=CardConfig(), **changed)

    stored = dict(known["recipe"])
    stored["scorer"] = {name: value for name, value in stored["scorer"].items() if name != "teachers"}  # of old reports
    return counting(from_dict(Recipe, stored, "stored recipe")) == counting(recipe)


def sweep(recipe: Recipe, gold: Gold) -> Figures:
    """Measure the error rate of a recipe's system over steps, λ and kernels."""
    run = Path(recipe.run)
    path = run / "sweep.json"
    known = read_results(path, ("recipe", "figures"))
    if known is not None and _made_by(recipe, known, ("translate", "align")):
        return known["figures"]
    system = AlignmentSystem.load(run / MODEL, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    settings = list(_settings(system))
    figures: Figures = []
    with Progress() as progress:
        progress.phase(f"sweep over {run}", len(settings), "settings")
        for two_ways, kernel, optimisation in settings:
            one = dataclasses.replace(system, alignment=dataclasses.replace(system.alignment, kernel=kernel))
            method = one.bidirectional_attention if two_ways else one.layer_attention
            attend = partial(method, optimisation=optimisation)
            name = "both" if two_ways else "one"
            lines = score_system(one, [gold], name, attend, ("best-cells",) if two_ways else MERGED)
            chosen = {"steps": optimisation.steps, "contiguity": optimisation.contiguity, "kernel": kernel}
            figures += [chosen | line.figures() for line in lines]
            progress.advance(1)
    write_json(path, {"recipe": to_dict(recipe), "figures": figures}, indent=None)
    return figures


def _settings(system: AlignmentSystem) -> Iterator[tuple[bool, int, OptimisationConfig]]:
    """Yield whether both directions are optimised at once, with which kernel, and how."""
    one, both, kernel = system.optimisation, system.bidirectional, system.alignment.kernel
    for steps in range(MOST_STEPS + 1):
        for weight in WEIGHTS_IN_ONE_DIRECTION:
            yield False, kernel, dataclasses.replace(one, steps=steps, contiguity=weight)
        for weight in WEIGHTS_IN_TWO:
            yield True, kernel, dataclasses.replace(both, steps=steps, contiguity=weight)
    for other in set(KERNELS) - {kernel}:
        yield False, other, dataclasses.replace(one, contiguity=1.0)
