"""A recipe: the whole of a training, from text to an aligner, in one file. ``weft.config`` has its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from weft.config import (
    PRESETS,
    AlignmentConfig,
    Direction,
    GuidedConfig,
    ModelConfig,
    OptimisationConfig,
    PrepareConfig,
    ScorerConfig,
    TrainingConfig,
)
from weft.config_io import from_dict, override_setting, read_toml
from weft.errors import WeftError

Stage = Literal["translate", "align", "guide", "distil"]
_SHIPPED = Path(__file__).parent / "recipes"
STAGES: tuple[Stage, ...] = ("translate", "align", "guide", "distil")


@dataclass(frozen=True)
class StartConfig:
    """Finished translation models to begin from; also of other languages, whose words they share in part."""

    forward: str = ""
    """Model folder for the forward direction (empty: random weights)."""
    backward: str = ""


@dataclass(frozen=True)
class GoldConfig:
    """Sentences with gold links, to score every stage with. Training never sees the links."""

    source: str = ""
    target: str = ""
    links: str = ""
    base: Literal[0, 1] = 1
    """The number of the first word in the file of links."""

    def __post_init__(self) -> None:
        named = [bool(name) for name in (self.source, self.target, self.links)]
        if any(named) and not all(named):
            raise WeftError("gold is three files: source, target and links")


@dataclass(frozen=True)
class CardConfig:
    """What the card of the small aligner tells its users, beside what training knows itself."""

    languages: str = ""
    """Such as "German-English"."""
    data: str = ""
    """Sentences about the training text."""
    licence: str = ""
    """Of that text."""
    gold: str = ""
    """Which sentences the gold links are of."""
    limits: str = ""
    """Sentences about what the aligner is not good at."""


@dataclass(frozen=True)
class Recipe:
    """A whole experiment: which text, which model, how long. ``weft train RECIPE.toml`` runs it."""

    run: str
    """Folder for everything that the recipe makes."""
    files: tuple[str, ...] = ()
    """Parallel text: one or many files of TSV or `source ||| target` lines."""
    source: tuple[str, ...] = ()
    """Source side of parallel text in two files, with as many target files beside it."""
    target: tuple[str, ...] = ()
    prepared: str = ""
    """A folder that `weft prepare` has made, instead of text."""
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    preset: Literal["paper", "base", "small", "tiny"] = "paper"
    """The shape of the model; single fields can be set in the table [model]."""
    model: ModelConfig = field(default_factory=ModelConfig)
    directions: tuple[Direction, ...] = ("forward", "backward")
    """Directions to train, side by side."""
    stages: tuple[Stage, ...] = ("translate", "align", "guide", "distil")
    """How far to go: translate, align and guide are the paper's stages, distil makes a small aligner of them."""
    translation: str = ""
    """The folder of another run whose translation models are used, instead of training them here."""
    start: StartConfig = field(default_factory=StartConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Of the translation models."""
    alignment: AlignmentConfig = field(default_factory=AlignmentConfig)
    optimisation: OptimisationConfig = field(default_factory=OptimisationConfig)
    """In one direction."""
    bidirectional: OptimisationConfig = field(default_factory=lambda: OptimisationConfig(steps=8, step_size=0.3))
    """In two directions at once."""
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    scorer: ScorerConfig = field(default_factory=ScorerConfig)
    gold: GoldConfig = field(default_factory=GoldConfig)
    card: CardConfig = field(default_factory=CardConfig)

    def __post_init__(self) -> None:
        if not self.directions or len(set(self.directions)) < len(self.directions):
            raise WeftError('directions must name "forward", "backward" or both, each once')
        if not self.stages or self.stages != STAGES[: len(self.stages)]:
            raise WeftError(f"stages must be {', '.join(STAGES)}, in this order, or the first of them")
        if len(self.directions) < 2 and len(self.stages) > 1:
            raise WeftError('alignment needs both directions; for one, set stages = ["translate"]')
        if self.model.width % self.guided.heads:
            raise WeftError(f"guided.heads must divide the width of {self.model.width}, but is {self.guided.heads}")

    def until(self, stage: Stage | None) -> Recipe:
        """The same recipe, ended after a stage (None: as it is)."""
        if stage is None:
            return self
        if stage not in self.stages:
            raise WeftError(f"the recipe has no stage {stage}; its stages are {', '.join(self.stages)}")
        return dataclasses.replace(self, stages=self.stages[: self.stages.index(stage) + 1])


def find_recipe(name: str) -> Path:
    """Return the file of a recipe: a shipped one by its name, such as de-en, or any path."""
    shipped = {path.stem: path for path in _SHIPPED.glob("*.toml")}
    return shipped.get(name, Path(name))


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a TOML recipe. Paths in it are relative to where weft runs.

    The table ``[model]`` sets single fields of the preset.
    """
    values = read_toml(path, overrides)
    shape = _preset(values.get("preset", "paper"), str(path))
    model = from_dict(ModelConfig, values.pop("model", {}), f"{path}: model", base=shape)
    recipe = from_dict(Recipe, values, str(path))
    return dataclasses.replace(recipe, model=model)


def _preset(name: object, where: str) -> ModelConfig:
    if name not in PRESETS:
        raise WeftError(f"{where}: preset must be one of {', '.join(PRESETS)}, not {name!r}")
    return PRESETS[str(name)]


def overridden(recipe: Recipe, overrides: Sequence[str]) -> Recipe:
    """A recipe with settings such as ``training.updates=500`` put over it."""
    values: dict[str, Any] = {}
    for override in overrides:
        override_setting(values, override)
    if "preset" in values:
        shape = _preset(values["preset"], "settings")
        recipe = dataclasses.replace(recipe, model=dataclasses.replace(shape, dropout=recipe.model.dropout))
    return from_dict(Recipe, values, "settings", base=recipe)
