"""Run a recipe, from text to a trained aligner: prepare, then the stages of the pipeline, then a report."""

from __future__ import annotations

import shutil
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from weft.config import Direction
from weft.config_io import to_dict
from weft.corpus.build import prepare, report
from weft.corpus.packing import PackedRows, pack
from weft.corpus.piece_links import PieceLinks
from weft.corpus.prepared import PreparedCorpus, open_prepared, read_manifest
from weft.errors import WeftError, remedy_for_bad_lines
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem, mean_guided_attention
from weft.model.torch_folder import load_translation
from weft.progress import say
from weft.recipe import Recipe
from weft.storage import checksum_of
from weft.text.reading import Corpus
from weft.train.distributed import Process, environment, join_processes
from weft.train.export import save_aligner
from weft.train.report import (
    MERGES,
    Gold,
    ReportLine,
    aligner_card,
    score_aligner,
    score_stages,
    score_system,
    write_report,
)
from weft.train.stage_align import train_alignment
from weft.train.stage_distil import train_fast, train_scorer
from weft.train.stage_guide import train_guided
from weft.train.stage_links import best_cells, corpus_links, file_links, guided_links
from weft.train.stage_translate import train_translation
from weft.train.task import WEIGHTS, ResidentRows


def run_recipe(recipe: Recipe, force: bool = False) -> dict[str, Path]:
    """All stages of a recipe; the folders of its models. ``force`` starts the training again from nothing."""
    run = Path(recipe.run)
    gold = Gold.read(recipe.gold) if recipe.gold.links else None  # bad gold is found before hours of training
    with join_processes() as process:
        corpus = _prepared(recipe, run, process)
        if process.first:
            if force:
                _forget(run)
            say(overview(recipe, run))
        process.wait()
        pipeline = Pipeline(recipe, corpus, gold, process)
        pipeline.translate()
        if "align" in recipe.stages:
            pipeline.align()
            if "guide" in recipe.stages:
                pipeline.guide()
            pipeline.save_system()
        if "distil" in recipe.stages:
            pipeline.distil()
        if process.first and gold is not None and pipeline.lines:
            say(write_report(recipe, pipeline.lines, gold, process.device))
        process.wait()
        return pipeline.made


def overview(recipe: Recipe, run: Path) -> str:
    """The stages of a recipe and how far each of them is, one a line."""
    translation = Path(recipe.translation or run)
    stages = [(f"translate {way}", translation / way, "model/config.json") for way in recipe.directions]
    if "align" in recipe.stages:
        stages.append(("align", run / "align", WEIGHTS))
    if "guide" in recipe.stages:
        for number in range(1, recipe.guided.rounds + 1):
            stages.append((f"links {number}", run / f"links-{number}", "manifest.json"))
            stages.append((f"guide {number}", run / f"guide-{number}", WEIGHTS))
    if "distil" in recipe.stages:
        stages.append(("distil", run / "distil", WEIGHTS))
        if recipe.scorer.fast.layers:
            stages.append(("distil fast", run / "fast", WEIGHTS))
    width = max(len(name) for name, _, _ in stages)
    return "\n".join(f"{name:{width}}  {_state(folder, result)}" for name, folder, result in stages)


def _state(folder: Path, result: str) -> str:
    if (folder / result).exists():
        return "finished"
    updates = [int(path.stem.rpartition("-")[2]) for path in folder.glob("checkpoint-*.safetensors")]
    return f"goes on from update {max(updates):,}" if updates else "to do"


def _forget(run: Path) -> None:
    """Remove what training has made; the prepared corpus stays."""
    stages = ("forward", "backward", "align", "align-restart-*", "links-*", "guide-*", "distil", "fast")
    for pattern in (*stages, "model", "aligner"):
        for path in run.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()  # links that a kill has left half made are files


def _prepared(recipe: Recipe, run: Path, process: Process) -> PreparedCorpus:
    if recipe.prepared:
        return open_prepared(Path(recipe.prepared))
    folder = run / "corpus"
    if process.first:
        if folder.exists():
            _check_same(recipe, folder)
        else:
            corpus = Corpus(recipe.files, recipe.source, recipe.target)
            with remedy_for_bad_lines("fix the line, or leave such lines out with prepare.skip_bad=true"):
                say(report(prepare(corpus, recipe.prepare, folder)))
    process.wait()
    return open_prepared(folder)


def _check_same(recipe: Recipe, folder: Path) -> None:
    manifest = read_manifest(folder)
    inputs = {"files": list(recipe.files), "source": list(recipe.source), "target": list(recipe.target)}
    if manifest["inputs"] != inputs or manifest["options"] != to_dict(recipe.prepare):
        raise WeftError(
            f"{folder}: holds a corpus made from other files or with other options; "
            "choose another run folder or remove this one"
        )


_SAMPLE_PAIRS = 2_000  # of training text, to choose a decoder layer with
_SAMPLE_ROWS = 64  # of them, to measure the sizes of numbers on


class Pipeline:
    """The stages of one recipe, to be called in their order."""

    def __init__(self, recipe: Recipe, corpus: PreparedCorpus, gold: Gold | None, process: Process) -> None:
        self.recipe, self.corpus, self.gold, self.process = recipe, corpus, gold, process
        self.run = Path(recipe.run)
        self.made: dict[str, Path] = {}
        """The folders of finished models."""
        self.lines: list[ReportLine] = []
        """The scores of stages, where there is gold."""
        self._lineage: list[str] = []  # checksums of all that the next stage is built on
        self._models: dict[Direction, Path] = {}

    def translate(self) -> None:
        """Both translation models, trained here or by another run."""
        recipe = self.recipe
        if recipe.translation:
            self._models = {way: Path(recipe.translation) / way / "model" for way in recipe.directions}
        else:
            self._models = train_translation(
                self.corpus, recipe.model, recipe.training, recipe.directions, recipe.start, self.run, self.process
            )
        self.made |= self._models
        self._lineage = [checksum_of(folder / "model.safetensors")[:16] for folder in self._models.values()]

    @cached_property
    def system(self) -> AlignmentSystem:
        """The translation models, with layers on top that are not trained yet."""
        models = {}
        for direction, folder in self._models.items():
            loaded = load_translation(folder, self.process.device)
            if loaded.subwords.spellings != self.corpus.subwords.spellings:
                raise WeftError(
                    f"{folder}: made for other subwords than {self.corpus.folder}; use the corpus it was trained on"
                )
            models[direction] = loaded.model
        recipe = self.recipe
        guided = recipe.guided if "guide" in recipe.stages else None
        return AlignmentSystem.on_top_of(
            models, self.corpus.subwords, recipe.alignment, recipe.optimisation, recipe.bidirectional, guided
        )

    def align(self) -> None:
        """Alignment layers."""
        weights = train_alignment(self.system, self.corpus, self.run / "align", " ".join(self._lineage), self.process)
        self._lineage.append(checksum_of(weights)[:16])

    def guide(self) -> None:
        """Links of the corpus and guided layers, in one round or in several."""
        config = self.recipe.guided
        packed = self._pack(config.training.row_length, config.training.seed, config.pairs)
        below = list(self._lineage)
        for number in range(1, config.rounds + 1):
            folder = self.run / f"links-{number}"
            links = self._guiding_links(number, packed, folder)
            origin = " ".join([*below, checksum_of(folder / "cells")[:16]])
            guide = self.run / f"guide-{number}"
            weights = train_guided(self.system, config, packed, links, guide, origin, self.process)
            self._lineage.append(checksum_of(weights)[:16])

    def _guiding_links(self, number: int, packed: PackedRows, folder: Path) -> PieceLinks:
        """In the first round those of a file or of bidirectional optimisation, then those of the layers themselves."""
        config, bidirectional = self.recipe.guided, self.recipe.bidirectional
        if number == 1 and config.links:
            return file_links(self.corpus, config.links, folder, self.process)
        made: dict[str, Any] = {"from": self._lineage, "pairs": config.pairs}
        if number == 1:
            made |= to_dict(bidirectional)
            extract = best_cells(self.system.attend("bidirectional"))
        else:
            made["threshold"] = config.threshold
            extract = guided_links(self.system, config.threshold)
        return corpus_links(self.corpus, packed, extract, folder, made, self.process)

    def save_system(self) -> None:
        """Everything so far as one model folder, and its scores."""
        self.made["system"] = self.run / "model"
        if self.process.first:
            self.system.save(self.made["system"], training=to_dict(self.recipe))
        if self.gold:
            self.lines += score_stages(self.system, self.gold, self._sample)

    def distil(self) -> None:
        """A small scorer that knows what the system knows, and an aligner made of it that needs no torch."""
        config, threshold = self.recipe.scorer, self.recipe.guided.threshold
        packed = self._pack(config.training.row_length, config.training.seed, config.pairs)
        folder = self.run / "distil"
        teachers = [self.system, *(self._teacher(Path(name)) for name in config.teachers)]
        scorer = train_scorer(teachers, config, packed, folder, " ".join(self._lineage), self.process)
        fast = None
        if config.fast.layers:
            origin = " ".join([*self._lineage, checksum_of(folder / WEIGHTS)[:16]])
            fast = train_fast(
                scorer, self.recipe.model.dropout, config, packed, self.run / "fast", origin, self.process
            )
        if self.gold and config.teachers:
            together = partial(mean_guided_attention, teachers)
            self.lines += score_system(self.system, self.gold, "teachers", together, MERGES["guided"], threshold)
        if self.gold:
            self.lines += score_system(self.system, self.gold, "scorer", scorer.attention, MERGES["guided"], threshold)
        if self.process.first:
            self._export(scorer, fast, self.run / "aligner")

    def _teacher(self, folder: Path) -> AlignmentSystem:
        """Another system that the scorer learns from."""
        other = AlignmentSystem.load(folder, self.process.device)
        if other.subwords.spellings != self.corpus.subwords.spellings or other.guided is None:
            raise WeftError(f"{folder}: cannot teach here; it takes guided layers and the subwords of this corpus")
        self._lineage.append(checksum_of(folder / "model.safetensors")[:16])
        return other

    def _export(self, scorer: Scorer, fast: Scorer | None, folder: Path) -> None:
        rows = torch.arange(min(_SAMPLE_ROWS, len(self._sample)), device=self.process.device)
        text = ResidentRows(self._sample, self.process.device).pair(rows)
        save_aligner(folder, scorer, fast, [text], self.corpus.subwords, self.recipe.guided.threshold)
        self.made["aligner"] = folder
        scores = [score_aligner(folder, self.gold)] if self.gold else []
        if self.gold and fast is not None:
            scores.append(score_aligner(folder, self.gold, fast=True))
        self.lines += scores
        device = str(environment(self.process.device)["device"])
        card = aligner_card(self.recipe, self.corpus, device, scores, self.gold)
        (folder / "README.md").write_text(card, encoding="utf-8")

    @cached_property
    def _sample(self) -> PackedRows:
        """Some training text."""
        return self._pack(self.recipe.training.row_length, 1, _SAMPLE_PAIRS)

    def _pack(self, row_length: int, seed: int, pairs: int) -> PackedRows:
        return pack(self.corpus.source, self.corpus.target, row_length, seed, most=pairs)
