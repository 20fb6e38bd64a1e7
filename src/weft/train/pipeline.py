"""The road from a prepared corpus to an aligner: each stage is a method, and goes on where it was.

What is finished is not done again. A stage knows what those before it have made by checksums, so that nothing is ever
built on something else than the recipe says.
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from weft.config import Direction
from weft.errors import WeftError
from weft.model.folder import load_translation
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem, mean_guided_attention
from weft.progress import say
from weft.recipe import Recipe
from weft.settings import to_dict
from weft.text.batches import PackedRows, pack
from weft.text.piece_links import PieceLinks
from weft.text.prepared import PreparedCorpus, checksum_of
from weft.train.align import train_alignment
from weft.train.card import aligner_card
from weft.train.corpus_links import best_cells, corpus_links, file_links, guided_links
from weft.train.distil import train_fast, train_scorer
from weft.train.distributed import Process
from weft.train.guide import train_guided
from weft.train.joint import joint_attention, train_joint
from weft.train.report import (
    BOTH_WAYS,
    MERGES,
    Gold,
    ReportLine,
    best_attention_layer,
    score_aligner,
    score_attention,
    score_stages,
    score_system,
)
from weft.train.resident import ResidentRows
from weft.train.runlog import environment
from weft.train.stage import WEIGHTS
from weft.train.translate import train_translation

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
        if config.fast.layers:
            origin = " ".join([*self._lineage, checksum_of(folder / WEIGHTS)[:16]])
            train_fast(scorer, self.recipe.model.dropout, config, packed, self.run / "fast", origin, self.process)
        if self.gold and config.teachers:
            together = partial(mean_guided_attention, teachers)
            self.lines += score_system(self.system, self.gold, "teachers", together, MERGES["guided"], threshold)
        if self.gold:
            self.lines += score_system(self.system, self.gold, "scorer", scorer.attention, MERGES["guided"], threshold)
        if self.process.first:
            self._export(scorer, self.run / "aligner")

    def _teacher(self, folder: Path) -> AlignmentSystem:
        """Another system that the scorer learns from."""
        other = AlignmentSystem.load(folder, self.process.device)
        if other.subwords.spellings != self.corpus.subwords.spellings or other.guided is None:
            raise WeftError(f"{folder}: cannot teach here; it takes guided layers and the subwords of this corpus")
        self._lineage.append(checksum_of(folder / "model.safetensors")[:16])
        return other

    def _export(self, scorer: Scorer, folder: Path) -> None:
        try:
            from weft.train.export import save_aligner
        except ModuleNotFoundError as missing:  # GPU hosts often lack onnx
            say(f"{folder}: not written, for it takes the package {missing.name}; run the same command where that is")
            return
        rows = torch.arange(min(_SAMPLE_ROWS, len(self._sample)), device=self.process.device)
        text = ResidentRows(self._sample, self.process.device).pair(rows)
        save_aligner(folder, scorer, [text], self.corpus.subwords, self.recipe.guided.threshold)
        self.made["aligner"] = folder
        scores = [score_aligner(folder, self.gold)] if self.gold else []
        if self.gold and scorer.fast is not None:
            scores.append(score_aligner(folder, self.gold, fast=True))
        self.lines += scores
        device = str(environment(self.process.device)["device"])
        card = aligner_card(self.recipe, self.corpus, device, scores, self.gold)
        (folder / "README.md").write_text(card, encoding="utf-8")

    def joint(self) -> None:
        """The translation models, trained on for translation and alignment (Garg et al., 2019)."""
        config = self.recipe.joint
        packed = self._pack(config.training.row_length, config.training.seed, config.pairs)
        layer = best_attention_layer(self.system, self._sample)
        if self.gold:
            self.lines += score_attention(self.system, self.gold, layer)
        folder = self.run / "links-1"
        if config.links:
            links = file_links(self.corpus, config.links, folder, self.process)
        else:
            made = {"from": self._lineage, "layer": layer, "pairs": config.pairs}
            extract = best_cells(partial(self.system.plain_attention, layer=layer))
            links = corpus_links(self.corpus, packed, extract, folder, made, self.process)
        origin = " ".join([*self._lineage, checksum_of(folder / "cells")[:16]])
        models = {direction: way.translation for direction, way in self.system.ways.items()}
        train_joint(models, config, packed, links, self.run / "joint", origin, self.process)
        if self.gold:
            attend = partial(joint_attention, models, config.layer - 1)
            self.lines += score_system(self.system, self.gold, "joint", attend, BOTH_WAYS)

    @cached_property
    def _sample(self) -> PackedRows:
        """Some training text."""
        return self._pack(self.recipe.training.row_length, 1, _SAMPLE_PAIRS)

    def _pack(self, row_length: int, seed: int, pairs: int) -> PackedRows:
        return pack(self.corpus.source, self.corpus.target, row_length, seed, most=pairs)
