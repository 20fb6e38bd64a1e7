"""The parts of a run in one table: what each is made of, where it is, and how far it is. Nothing in here imports torch.

A part that is finished has a file ``finished.json`` in its folder, written after everything else, with the settings
that it was made with. All stages ask ``is_finished`` whether there is something to do, and everything that is said
about a run (overview, times, cards) is read from this table.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from weft.config import Direction, TuneConfig
from weft.config_io import to_dict
from weft.errors import WeftError
from weft.recipe import Recipe, Stage
from weft.storage import checksum_of, read_json, write_json, write_text

WEIGHTS = "weights.safetensors"
MODEL = "model"  # folder of a translation model in its part, and of a whole system in its run
ALIGNER = "aligner"
ROWS = "rows"  # folder of packed rows in a run
_FINISHED = "finished.json"
_COLLAPSED = "collapsed.txt"

Kind = Literal["translate", "align", "links", "guide", "distil", "refine", "fast"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In the order in which they are made; times are told for each."""
_STAGES: dict[Kind, Stage] = {
    "translate": "translate",
    "align": "align",
    "links": "guide",
    "guide": "guide",
    "distil": "distil",
    "refine": "distil",
    "fast": "distil",
}


@dataclass(frozen=True)
class Part:
    """One thing that a run makes, in a folder of its own."""

    name: str
    kind: Kind
    base: Path
    """Its folder, or that of the first attempt if training may start again."""
    result: str
    """The file in the folder that other parts are built on."""
    needs: tuple[Part, ...] = ()
    borrowed: bool = False
    """Whether another run has made it."""

    @property
    def stage(self) -> Stage:
        """The stage of the recipe that it belongs to."""
        return _STAGES[self.kind]

    @property
    def folder(self) -> Path:
        """The folder of the attempt that counts: the first that has not collapsed."""
        return next(folder for folder in self.attempts() if not has_collapsed(folder))

    def attempts(self) -> Iterator[Path]:
        """Yield the folders of the first attempt and of all new starts."""
        yield self.base
        yield from (self.base.with_name(f"{self.base.name}-restart-{number}") for number in itertools.count(1))

    @property
    def finished(self) -> bool:
        return (self.folder / (self.result if self.borrowed else _FINISHED)).exists()

    @property
    def updates(self) -> int:
        """Updates in the last checkpoint."""
        found = self.folder.glob("checkpoint-*.safetensors")
        return max((int(path.stem.rpartition("-")[2]) for path in found), default=0)

    @property
    def seconds(self) -> float:
        """How long it took, if that is known; 0 if not."""
        return float((_record(self.folder) or {}).get("seconds", 0.0))

    @property
    def checksum(self) -> str:
        """A short checksum of its result."""
        return checksum_of(self.folder / self.result)[:16]

    @property
    def origin(self) -> str:
        """The checksums of all that it is built on."""
        return " ".join(part.checksum for part in self.needs)

    @property
    def state(self) -> str:
        """How far it is, in words."""
        if self.finished:
            return "finished"
        return f"goes on from update {self.updates:,}" if self.updates else "to do"


class Parts:
    """All parts of a recipe: those of its systems, and those of the scorer that learns from them."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.run = Path(recipe.run)

    @cached_property
    def systems(self) -> list[SystemParts]:
        """The parts of each teacher; the first is that of the run itself."""
        return [SystemParts(self.recipe.teacher(number), number) for number in range(1, self.recipe.teachers + 1)]

    @cached_property
    def distil(self) -> Part:
        trained = [part for system in self.systems for part in system.all() if part.kind != "links"]
        return Part("distil", "distil", self.run / "distil", WEIGHTS, tuple(trained))

    @cached_property
    def refine(self) -> Part | None:
        if not self.recipe.scorer.refine.training.updates:
            return None
        return Part("refine", "refine", self.run / "refine", WEIGHTS, (*self.distil.needs, self.distil))

    @property
    def scorer(self) -> Part:
        """The part that ends in the scorer as it is exported."""
        return self.refine or self.distil

    @cached_property
    def fast(self) -> Part | None:
        if not self.recipe.scorer.fast.layers:
            return None
        return Part("fast", "fast", self.run / "fast", WEIGHTS, (*self.scorer.needs, self.scorer))

    def all(self) -> list[Part]:
        """Return all parts of the recipe's stages, in the order in which they are made."""
        parts = [part for system in self.systems for part in system.all()]
        parts += [part for part in (self.distil, self.refine, self.fast) if part is not None]
        return [part for part in parts if part.stage in self.recipe.stages]

    def overview(self) -> str:
        """Return how far each part is, one a line."""
        parts = self.all()
        width = max(len(part.name) for part in parts)
        return "\n".join(f"{part.name:{width}}  {part.state}" for part in parts)

    def seconds(self) -> dict[Kind, float]:
        """Return how long each kind of part took, over all systems; the two directions train side by side."""
        found: dict[Kind, float] = {}
        for system in self.systems:
            found["translate"] = found.get("translate", 0.0) + max(one.seconds for one in system.translate.values())
        for part in self.all():
            if part.kind != "translate":
                found[part.kind] = found.get(part.kind, 0.0) + part.seconds
        return found

    def forget(self) -> None:
        """Remove everything that training has made; the prepared corpus stays."""
        for part in self.all():
            if not part.borrowed:
                for ending in ("", "-restart-*", ".part-*"):  # the last: of links whose making was interrupted
                    for path in part.base.parent.glob(f"{part.base.name}{ending}"):
                        _remove(path)
        for system in self.systems:
            _remove(system.model)
            _remove(system.rows)
        _remove(self.run / ALIGNER)


class SystemParts:
    """The parts of one system: translation models, alignment layers, links of the corpus, guided layers."""

    def __init__(self, recipe: Recipe, number: int) -> None:
        self.recipe, self.number = recipe, number
        run = Path(recipe.run)
        self.model, self.rows = run / MODEL, run / ROWS
        prefix = "" if number == 1 else f"teacher {number}: "
        translation = Path(recipe.translation or run)
        self.translate: dict[Direction, Part] = {
            direction: Part(
                f"{prefix}translate {name}",
                "translate",
                translation / name,
                f"{MODEL}/model.safetensors",
                borrowed=bool(recipe.translation),
            )
            for direction, name in ((one, "both" if recipe.one_model else one) for one in recipe.directions)
        }
        self._models = tuple(dict.fromkeys(self.translate.values()))  # one, if both directions have the same
        self.align = Part(f"{prefix}align", "align", run / "align", WEIGHTS, self._models)
        below = (*self._models, self.align)
        self.links = Part(f"{prefix}links", "links", run / "links", "cells", below)
        self.guide = Part(f"{prefix}guide", "guide", run / "guide", WEIGHTS, (*below, self.links))

    def all(self) -> list[Part]:
        return [*self._models, self.align, self.links, self.guide]


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


# What parts were made with


_NOT_BINDING = {"checkpoint_every", "log_every", "compile", "precision"}  # may change when a run is taken up again


def binding_settings(**configs: Any) -> dict[str, Any]:
    """Return all settings of some configs that must stay the same for a run to go on, by their full names."""
    flat: dict[str, Any] = {}
    for table, config in configs.items():
        for name, value in (config if isinstance(config, dict) else to_dict(config)).items():
            if isinstance(value, dict):
                flat |= binding_settings(**{f"{table}.{name}": value})
            elif name not in _NOT_BINDING:
                flat[f"{table}.{name}"] = value
    return flat


_TABLES = {name: table for name, table in to_dict(Recipe("run")).items() if isinstance(table, dict)}
_DEFAULTS = binding_settings(**_TABLES, tune=TuneConfig())


def compare_settings(path: Path, recorded: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise WeftError if what ``path`` holds was made with other settings.

    A setting that one side does not know had, or has, its default; one without a default was, or is, empty.
    """
    for name in sorted(recorded.keys() | settings.keys()):
        default = _DEFAULTS.get(name)
        before, now = recorded.get(name, default), settings.get(name, default)
        if before != now and (before or now):
            raise WeftError(
                f"{path}: made with {name} = {before!r}, but now it is {now!r}; go back to the old setting, remove its "
                "folder to make this part again, choose another run folder, or forget the whole run with --force"
            )


def is_finished(folder: Path, settings: dict[str, Any]) -> bool:
    """Tell whether a part was finished in a folder. Raises WeftError if it was made with other settings."""
    record = _record(folder)
    if record is None:
        return False
    compare_settings(folder, record["settings"], settings)
    return True


def finish(folder: Path, settings: dict[str, Any], seconds: float, **figures: Any) -> None:
    """Record that a part is finished, when all of its files are written."""
    write_json(folder / _FINISHED, {"settings": settings, "seconds": seconds, **figures})


def _record(folder: Path) -> dict[str, Any] | None:
    path = folder / _FINISHED
    try:
        record = read_json(path)
    except FileNotFoundError:
        return None
    except WeftError as error:
        raise WeftError(f"{error}; remove it to finish this part again") from None
    if not isinstance(record, dict) or not isinstance(record.get("settings"), dict):
        raise WeftError(f"{path}: damaged; remove it to finish this part again")
    return record


def has_collapsed(folder: Path) -> bool:
    """Tell whether the attempt in a folder has failed."""
    return (folder / _COLLAPSED).exists()


def record_collapse(folder: Path, problem: str) -> None:
    """Record that the attempt in a folder has failed, and why."""
    write_text(folder / _COLLAPSED, f"{problem}\n")
