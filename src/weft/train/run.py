"""Run a recipe, from text to a trained aligner: prepare, train all parts of ``weft.train.stages``, report, export."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path

import torch

from weft.config import TrainingConfig
from weft.config_io import to_dict
from weft.corpus.build import prepare
from weft.corpus.packing import pack
from weft.corpus.prepared import PreparedCorpus, open_prepared, read_manifest, report
from weft.errors import WeftError, remedy_for_bad_lines
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem, mean_guided_attention
from weft.model.torch_folder import load_translation
from weft.progress import say
from weft.recipe import Recipe
from weft.storage import write_text
from weft.train.distributed import Process, alone_in, end_at_once, join_processes
from weft.train.export import save_aligner
from weft.train.report import (
    MERGES,
    SCORER,
    TEACHERS,
    Gold,
    ReportLine,
    aligner_card,
    read_gold_sets,
    score_aligner,
    score_stages,
    score_system,
    write_report,
)
from weft.train.stage_align import train_alignment
from weft.train.stage_distil import refine, train_fast, train_scorer
from weft.train.stage_guide import train_guided
from weft.train.stage_links import best_cells, corpus_links
from weft.train.stage_translate import train_translation
from weft.train.stages import ALIGNER, MODEL, Part, Parts, SystemParts, binding_settings
from weft.train.task import Text

_SAMPLE_PAIRS = 2_000  # of training text: enough for the rows of a sample


def run_recipe(recipe: Recipe, force: bool = False) -> dict[str, Path]:
    """Run all stages of a recipe, as far as they are not finished; ``force`` starts the training again from nothing.

    Returns the folders of its models.
    """
    gold = read_gold_sets(recipe)  # bad gold is found before hours of training
    parts = Parts(recipe)
    with join_processes() as process, alone_in(Path(recipe.run), "training", process):
        corpus = _prepared(recipe, process)
        if process.first:
            if force:
                parts.forget()
            say(parts.overview())
        process.wait()
        with end_at_once(process):
            run = Run(recipe, parts, corpus, gold, process)
            run.make_all()
            if process.first and run.lines:
                say(write_report(recipe, run.lines, gold, process.device))
        process.wait()
        return run.made


def _prepared(recipe: Recipe, process: Process) -> PreparedCorpus:
    """Open the corpus of a recipe; prepare it first if there is only text."""
    if recipe.prepared:
        return open_prepared(Path(recipe.prepared))
    folder = Path(recipe.run) / "corpus"
    if process.first:
        if folder.exists():
            _check_same(recipe, folder)
        else:
            with remedy_for_bad_lines("fix the line, or leave such lines out with prepare.skip_bad=true"):
                say(report(prepare(recipe.texts, recipe.prepare, folder)))
    process.wait()
    return open_prepared(folder)


def _check_same(recipe: Recipe, folder: Path) -> None:
    manifest = read_manifest(folder)
    if manifest.inputs != recipe.texts or manifest.options != recipe.prepare:
        raise WeftError(
            f"{folder}: holds a corpus made from other files or with other options; "
            "choose another run folder or remove this one"
        )
    for name in (name for text in recipe.texts for name in (*text.files, *text.source, *text.target)):
        if Path(name).exists() and Path(name).stat().st_mtime > folder.stat().st_mtime:
            say(f"{folder}: {name} is newer than this corpus; remove the folder to prepare the text again")


class Run:
    """Makes the parts of one recipe, each from those before it."""

    def __init__(
        self, recipe: Recipe, parts: Parts, corpus: PreparedCorpus, gold: list[Gold], process: Process
    ) -> None:
        self.recipe, self.parts, self.corpus, self.gold, self.process = recipe, parts, corpus, gold, process
        self.made: dict[str, Path] = {}
        """The folders of finished models."""
        self.lines: list[ReportLine] = []
        """The scores of all stages, if there is gold."""
        self._systems: list[AlignmentSystem] = []  # teachers that are trained

    def make_all(self) -> None:
        """Make everything that the recipe's stages ask for."""
        for own in self.parts.systems:
            self._translate(own)
            if "align" in self.recipe.stages:
                self._systems.append(self._system(own))
        if "distil" in self.recipe.stages:
            self._distil()

    def _below(self, part: Part) -> dict[str, str]:
        """Identify what a part is made of."""
        return {"corpus": self.corpus.checksum, "origin": part.origin}

    def _text(self, own: SystemParts, training: TrainingConfig, pairs: int) -> Text:
        return Text.of(self.corpus, training, own.rows, self.process, pairs)

    def _translate(self, own: SystemParts) -> None:
        """Train the translation models, unless another run has."""
        recipe = own.recipe
        if not recipe.translation:
            chosen = recipe.directions[:1] if recipe.one_model else recipe.directions
            folders = {direction: own.translate[direction].folder for direction in chosen}
            train_translation(
                self.corpus, recipe.model, recipe.training, folders, recipe.start, self.process, recipe.one_model
            )
        if own.number == 1:
            self.made |= {direction: part.folder / MODEL for direction, part in own.translate.items()}

    def _system(self, own: SystemParts) -> AlignmentSystem:
        """Train the layers of one system, save it, score it."""
        system = self._untrained(own)
        train_alignment(system, self.corpus, own.align, self._below(own.align), self.process)
        if "guide" in self.recipe.stages:
            self._guide(system, own)
        self.made["system" if own.number == 1 else f"teacher {own.number}"] = own.model
        if self.process.first:
            system.save(own.model, training=to_dict(own.recipe))
        if self.gold and own.number == 1:
            self.lines += score_stages(system, self.gold, self._sample)
        elif self.gold and system.guided is not None:
            name = f"guided, teacher {own.number}"
            self.lines += score_system(
                system, self.gold, name, system.guided_attention, MERGES["guided"], system.threshold
            )
        return system

    def _untrained(self, own: SystemParts) -> AlignmentSystem:
        """Put layers that are not trained yet on the translation models."""
        models = {}
        for direction, part in own.translate.items():
            folder = part.folder / MODEL
            loaded = load_translation(folder, self.process.device)
            if loaded.subwords.spellings != self.corpus.subwords.spellings:
                raise WeftError(
                    f"{folder}: made for other subwords than {self.corpus.folder}; use the corpus it was trained on"
                )
            models[direction] = loaded.model
        recipe = own.recipe
        guided = recipe.guided if "guide" in recipe.stages else None
        return AlignmentSystem.on_top_of(
            models, self.corpus.subwords, recipe.alignment, recipe.optimisation, recipe.bidirectional, guided
        )

    def _guide(self, system: AlignmentSystem, own: SystemParts) -> None:
        """Find links of the corpus by bidirectional optimisation and train guided layers on them."""
        config, bidirectional = own.recipe.guided, own.recipe.bidirectional
        text = self._text(own, config.training, config.pairs)
        packing = {name: getattr(config.training, name) for name in ("seed", "row_length")}
        chosen = {"pairs": config.pairs, "training": packing}
        settings = {**self._below(own.links), **binding_settings(guided=chosen, bidirectional=bidirectional)}
        extract = best_cells(system.attend("bidirectional"))
        links = corpus_links(self.corpus, text, extract, own.links.folder, settings, self.process)
        train_guided(system, config, text, links, own.guide.folder, self._below(own.guide), self.process)

    def _distil(self) -> None:
        """Train a small scorer that knows what the systems know, and make an aligner of it that needs no torch."""
        parts, config, process = self.parts, self.recipe.scorer, self.process
        rows_of, pairs = parts.systems[0], config.refine.pairs or config.pairs
        text = self._text(rows_of, config.training, config.pairs)
        scorer = train_scorer(self._systems, config, text, parts.distil.folder, self._below(parts.distil), process)
        if parts.refine is not None:
            settings = {**self._below(parts.refine), **binding_settings(**{"scorer.refine": config.refine})}
            own_text = self._text(rows_of, config.refine.training, pairs)
            scorer = refine("refined scorer", scorer, config.refine, own_text, parts.refine.folder, settings, process)
        fast = None
        if parts.fast is not None:
            bound = {name: to_dict(config)[name] for name in ("fast", "pairs", "training")}
            settings = {**self._below(parts.fast), **binding_settings(scorer=bound)}
            torch.manual_seed(config.training.seed)
            fast = train_fast(
                "fast scorer",
                scorer,
                Scorer(config.fast, scorer),
                config.training,
                text,
                parts.fast.folder,
                settings,
                process,
            )
        if self.gold:
            first = self._systems[0]
            if len(self._systems) > 1:
                together = partial(mean_guided_attention, self._systems)
                self.lines += score_system(first, self.gold, TEACHERS, together, MERGES["guided"], first.threshold)
            self.lines += score_system(first, self.gold, SCORER, scorer.attention, MERGES["guided"], first.threshold)
        if process.first:
            self._export(scorer, fast, Path(self.recipe.run) / ALIGNER)

    def _export(self, scorer: Scorer, fast: Scorer | None, folder: Path) -> None:
        """Write the aligner and its card."""
        save_aligner(folder, scorer, fast, [self._sample], self.corpus.subwords, self.recipe.guided.threshold)
        self.made["aligner"] = folder
        scores = self._aligner_scores(folder, fast is not None)
        self.lines += scores
        write_text(folder / "README.md", aligner_card(self.recipe, self.corpus, self.process.device, scores, self.gold))

    def _aligner_scores(self, folder: Path, fast: bool) -> list[ReportLine]:
        """Score the aligner as users have it; GPU hosts often lack what that needs."""
        if not self.gold:
            return []
        try:
            ways = (False, True) if fast else (False,)
            return [line for one in ways for line in score_aligner(folder, self.gold, fast=one)]
        except ModuleNotFoundError as missing:
            say(f"{folder}: not scored: package {missing.name!r} is missing")
            return []

    @cached_property
    def _sample(self) -> PairRows:
        """Some training text."""
        training, corpus = self.recipe.training, self.corpus
        times = partial(corpus.times, training.seed)
        rows = pack(corpus.source, corpus.target, training.row_length, training.seed, _SAMPLE_PAIRS, times)
        return Text(lambda: rows).sample(self.process.device)
