"""A recipe: a whole training, from text to an aligner, in one file. ``weft.config`` has its parts."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from weft.config import (
    PRESETS,
    AlignmentConfig,
    CorpusConfig,
    Direction,
    GuidedConfig,
    ModelConfig,
    OptimisationConfig,
    PrepareConfig,
    ScorerConfig,
    TrainingConfig,
)
from weft.config_io import from_dict, put_settings, read_toml, to_dict
from weft.errors import WeftError

Stage = Literal["translate", "align", "guide", "distil"]
_SHIPPED = Path(__file__).parent / "recipes"
_SEEDS_APART = 100  # between teachers; restarts of collapsed layers count up from each seed
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
    name: str = ""
    """What reports call it, such as the language; the name of the file of links unless it says otherwise."""
    content: bool = False
    """Whether the gold links content words alone: then a link counts only if both its words have gold links."""

    def __post_init__(self) -> None:
        named = [bool(name) for name in (self.source, self.target, self.links)]
        if any(named) and not all(named):
            raise WeftError("gold is three files: source, target and links")


@dataclass(frozen=True)
class CardConfig:
    """What the card of the small aligner says, besides what the run knows."""

    recipe: str = ""
    """Name of the recipe; that of its file unless it says otherwise."""
    languages: str = ""
    """Such as "German-English"."""
    data: str = ""
    """Sentences about the training text."""
    licence: str = ""
    """Of that text."""
    gold: str = ""
    """Which sentences the gold links are of."""
    choices: str = ""
    """Which gold was looked at when the settings of the recipe were chosen."""
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
    languages: tuple[str, ...] = ()
    """Codes of its languages, and whether it is French taken apart, as in the tables of corpora."""
    contract_french: Literal["no", "source", "target"] = "no"
    corpora: tuple[CorpusConfig, ...] = ()
    """Parallel text of any number of language pairs, instead: tables [[corpora]] with languages and files."""
    prepared: str = ""
    """A folder that `weft prepare` has made, instead of text."""
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    preset: Literal["paper", "base", "small", "tiny"] = "paper"
    """The shape of the model; single fields can be set in the table [model]."""
    model: ModelConfig = field(default_factory=ModelConfig)
    directions: tuple[Direction, ...] = ("forward", "backward")
    """Directions to train, side by side."""
    one_model: bool = False
    """Train one translation model that reads and writes both sides, instead of one for each direction."""
    stages: tuple[Stage, ...] = ("translate", "align", "guide", "distil")
    """How far to go: translate, align and guide are the paper's stages, distil makes a small aligner of them."""
    translation: str = ""
    """The folder of another run whose translation models are used, instead of training them here."""
    start: StartConfig = field(default_factory=StartConfig)
    teachers: int = 1
    """Number of systems, each trained from its own seed; the small aligner learns the mean of what they say."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Of the translation models."""
    alignment: AlignmentConfig = field(default_factory=AlignmentConfig)
    optimisation: OptimisationConfig = field(default_factory=OptimisationConfig)
    """In one direction."""
    bidirectional: OptimisationConfig = field(default_factory=lambda: OptimisationConfig(steps=8, step_size=0.3))
    """In two directions at once."""
    guided: GuidedConfig = field(default_factory=GuidedConfig)
    scorer: ScorerConfig = field(default_factory=ScorerConfig)
    gold: tuple[GoldConfig, ...] = ()
    """One table [gold], or one [[gold]] for each set of sentences."""
    card: CardConfig = field(default_factory=CardConfig)

    def __post_init__(self) -> None:
        if not self.run:
            raise WeftError("run must name a folder")
        if self.corpora and (self.files or self.source or self.target or self.prepared):
            raise WeftError("the text is named twice: as [[corpora]], and by files, source and target or prepared")
        if not self.directions or len(set(self.directions)) < len(self.directions):
            raise WeftError('directions must name "forward", "backward" or both, each once')
        if not self.stages or self.stages != STAGES[: len(self.stages)]:
            raise WeftError(f"stages must be {', '.join(STAGES)}, in this order, or the first of them")
        if len(self.directions) < 2 and len(self.stages) > 1:
            raise WeftError('alignment needs both directions; for one, set stages = ["translate"]')
        if self.one_model and self.start.backward:
            raise WeftError("with one_model there is one model to begin from: name it in start.forward")
        if self.teachers < 1:
            raise WeftError(f"teachers must be at least 1, but is {self.teachers}")
        if "guide" in self.stages and self.model.width % self.guided.heads:
            raise WeftError(f"guided.heads must divide the width of {self.model.width}, but is {self.guided.heads}")
        if "distil" in self.stages and self.scorer.layers > self.model.encoder_layers:
            raise WeftError(
                f"scorer.layers is {self.scorer.layers}, but the translation models have only "
                f"{self.model.encoder_layers} encoder layers to start from"
            )
        if "distil" in self.stages and self.scorer.shape(self.model).width > self.model.width:
            raise WeftError(
                f"scorer.width is {self.scorer.width}, but the translation models are only {self.model.width} wide"
            )

    @property
    def texts(self) -> tuple[CorpusConfig, ...]:
        """All parallel text."""
        one = CorpusConfig(self.languages, self.files, self.source, self.target, contract_french=self.contract_french)
        return self.corpora or (one,)

    def teacher(self, number: int) -> Recipe:
        """Return the recipe of one of the systems, counted from 1; all but the first have a folder of their own."""
        if number == 1:
            return self

        def reseeded(training: TrainingConfig) -> TrainingConfig:
            return dataclasses.replace(training, seed=training.seed + _SEEDS_APART * (number - 1))

        return dataclasses.replace(
            self,
            run=str(Path(self.run) / f"teacher-{number}"),
            translation="",
            teachers=1,
            training=reseeded(self.training),
            alignment=dataclasses.replace(self.alignment, training=reseeded(self.alignment.training)),
            guided=dataclasses.replace(self.guided, training=reseeded(self.guided.training)),
        )

    def until(self, stage: Stage | None) -> Recipe:
        """Return the same recipe, ended after a stage (None: as it is)."""
        if stage is None:
            return self
        if stage not in self.stages:
            raise WeftError(f"the recipe has no stage {stage}; its stages are {', '.join(self.stages)}")
        return dataclasses.replace(self, stages=self.stages[: self.stages.index(stage) + 1])


def find_recipe(name: str) -> Path:
    """Return the file of a recipe: a shipped one by its name, such as de-en, or any path."""
    shipped = {path.stem: path for path in _SHIPPED.glob("*.toml")}
    return shipped.get(name, Path(name))


def load_recipe(path: Path, settings: Sequence[str] = ()) -> Recipe:
    """Read a TOML recipe, with settings such as ``training.updates=500`` put over it.

    Paths in it are relative to where weft runs. The table ``[model]`` sets single fields of the preset.
    """
    values = read_toml(path, settings)
    shape = _preset(values.get("preset", "paper"), str(path))
    _put_under(values, "model", to_dict(shape))
    recipe = from_dict(Recipe, values, str(path))
    if recipe.card.recipe:
        return recipe
    return dataclasses.replace(recipe, card=dataclasses.replace(recipe.card, recipe=path.stem))


def _preset(name: object, where: str) -> ModelConfig:
    if not isinstance(name, str) or name not in PRESETS:
        raise WeftError(f"{where}: preset must be one of {', '.join(PRESETS)}, not {reprlib.repr(name)}")
    return PRESETS[name]


def _put_under(values: dict[str, Any], table: str, defaults: dict[str, Any]) -> None:
    """Put defaults under what a table says; if it is no table, `from_dict` will say so."""
    said = values.get(table, {})
    if isinstance(said, dict):
        values[table] = defaults | said


def overridden(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """Return a recipe with settings such as ``training.updates=500`` replaced.

    A preset keeps the dropout, and takes layers from the scorer that it does not have.
    """
    values = put_settings({}, settings)
    if "preset" in values:
        shape = dataclasses.replace(_preset(values["preset"], "settings"), dropout=recipe.model.dropout)
        layers = min(recipe.scorer.layers, shape.encoder_layers)
        _put_under(values, "model", to_dict(shape))
        _put_under(values, "scorer", {"layers": layers})
    return from_dict(Recipe, values, "settings", base=recipe)
