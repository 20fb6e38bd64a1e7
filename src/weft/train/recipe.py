"""Run a recipe, from text to a trained aligner: prepare, translate, align, guide, report.

What is finished is not done again, and what was interrupted goes on. A stage knows what the one before it has made by
its checksum, so that nothing is ever built on something else than the recipe says.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import torch

from weft.config import Direction, Recipe, to_dict
from weft.errors import WeftError
from weft.model.folder import load_translation
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem
from weft.progress import say
from weft.text.batches import PackedRows, pack
from weft.text.corpus import Corpus
from weft.text.prepare import prepare, report
from weft.text.prepared import PreparedCorpus, checksum_of, open_prepared, read_manifest
from weft.train.align import train_alignment
from weft.train.corpus_links import attention_links, bidirectional_links, corpus_links, file_links, guided_links
from weft.train.distil import train_scorer
from weft.train.distributed import Process, join_processes
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
    write_report,
)
from weft.train.resident import ResidentRows
from weft.train.translate import train_translation

_SAMPLE_PAIRS = 2_000  # of training text, to choose a decoder layer with
_SAMPLE_ROWS = 64  # of them, to measure numbers on


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
        folders = _translation(recipe, corpus, run, process)
        made: dict[str, Path] = {**folders}
        if len(recipe.stages) == 1:
            return made
        system = AlignmentSystem.on_top_of(
            {direction: load_translation(folder, process.device).model for direction, folder in folders.items()},
            corpus.subwords,
            recipe.alignment,
            recipe.optimisation,
            recipe.bidirectional,
            recipe.guided if "guide" in recipe.stages else None,
        )
        translation = " ".join(checksum_of(folder / "model.safetensors")[:16] for folder in folders.values())
        sample = pack(corpus.source, corpus.target, recipe.training.row_length, most=_SAMPLE_PAIRS)
        if "joint" in recipe.stages:
            lines = _joint(recipe, corpus, system, translation, sample, gold, run, process)
        else:
            guided = _align_and_guide(recipe, corpus, system, translation, run, process)
            made["system"] = run / "model"
            if process.first:
                system.save(made["system"], training=to_dict(recipe))
            lines = score_stages(system, gold, sample) if gold else []
            if "distil" in recipe.stages:
                made["aligner"] = run / "aligner"
                lines += _distil(recipe, corpus, system, f"{translation} {guided}", sample, gold, run, process)
        if process.first and gold is not None:
            say(write_report(run, lines, gold))
        process.wait()
        return made


def _translation(recipe: Recipe, corpus: PreparedCorpus, run: Path, process: Process) -> dict[Direction, Path]:
    """The folders of the translation models, trained here or by another run."""
    if not recipe.translation:
        return train_translation(corpus, recipe.model, recipe.training, recipe.directions, run, process)
    folders = {direction: Path(recipe.translation) / direction / "model" for direction in recipe.directions}
    for folder in folders.values():
        subwords = load_translation(folder, torch.device("cpu")).subwords
        if subwords.spellings != corpus.subwords.spellings:
            raise WeftError(f"{folder}: made for other subwords than {corpus.folder}; use the corpus it was trained on")
    return folders


def _align_and_guide(
    recipe: Recipe, corpus: PreparedCorpus, system: AlignmentSystem, translation: str, run: Path, process: Process
) -> str:
    """Train the layers of a system, as far as the recipe goes; the checksum of the last ones."""
    weights = aligned = train_alignment(system, corpus, run / "align", translation, process)
    if system.guided is None:
        return checksum_of(weights)[:16]
    config = system.guided
    packed = pack(corpus.source, corpus.target, config.training.row_length, config.training.seed, most=config.pairs)
    for number in range(1, config.rounds + 1):
        folder = run / f"links-{number}"
        made: dict[str, Any] = {"layers": checksum_of(weights), "pairs": config.pairs}
        if number > 1:
            made["threshold"] = config.threshold
            links = corpus_links(corpus, packed, guided_links(system, config.threshold), folder, made, process)
        elif config.links:
            links = file_links(corpus, config.links, folder, process)
        else:
            made |= to_dict(recipe.bidirectional)
            extract = bidirectional_links(system, recipe.bidirectional)
            links = corpus_links(corpus, packed, extract, folder, made, process)
        origin = " ".join([translation, checksum_of(aligned)[:16], checksum_of(folder / "cells")[:16]])
        weights = train_guided(system, config, packed, links, run / f"guide-{number}", origin, process)
    return checksum_of(weights)[:16]


def _distil(
    recipe: Recipe,
    corpus: PreparedCorpus,
    system: AlignmentSystem,
    origin: str,
    sample: PackedRows,
    gold: Gold | None,
    run: Path,
    process: Process,
) -> list[ReportLine]:
    """Teach a small scorer what the system knows, write it as an aligner that needs no torch, and score both."""
    config = recipe.scorer
    packed = pack(corpus.source, corpus.target, config.training.row_length, config.training.seed, most=config.pairs)
    scorer = train_scorer(system, config, packed, run / "distil", origin, process)
    threshold = recipe.guided.threshold
    lines = score_system(system, gold, "scorer", scorer.attention, MERGES["guided"], threshold) if gold else []
    if process.first:
        folder = run / "aligner"
        try:
            _export(recipe, scorer, corpus, sample, folder)
            lines += [score_aligner(folder, gold)] if gold else []
        except ModuleNotFoundError as missing:  # GPU hosts often lack it
            say(f"{folder}: not written, for it takes the package {missing.name}; run the same command where that is")
    return lines


def _export(recipe: Recipe, scorer: Scorer, corpus: PreparedCorpus, sample: PackedRows, folder: Path) -> None:
    """Write the small aligner; ``sample`` is text to measure the sizes of its numbers on."""
    from weft.train.export import measured_ranges, save_aligner, scorer_graph

    device = next(scorer.parameters()).device
    rows = torch.arange(min(_SAMPLE_ROWS, len(sample)), device=device)
    graph = scorer_graph(scorer, measured_ranges(scorer, [ResidentRows(sample, device).pair(rows)]))
    config = {"threshold": recipe.guided.threshold, "training": to_dict(recipe)}
    save_aligner(folder, graph, corpus.subwords, config)


def _joint(
    recipe: Recipe,
    corpus: PreparedCorpus,
    system: AlignmentSystem,
    translation: str,
    sample: PackedRows,
    gold: Gold | None,
    run: Path,
    process: Process,
) -> list[ReportLine]:
    """Train the translation models on for alignment, and score them."""
    config = recipe.joint
    packed = pack(corpus.source, corpus.target, config.training.row_length, config.training.seed, most=config.pairs)
    layer = best_attention_layer(system, sample)
    lines = score_attention(system, gold, layer) if gold else []
    folder = run / "links-1"
    if config.links:
        links = file_links(corpus, config.links, folder, process)
    else:
        made = {"translation": translation, "layer": layer, "pairs": config.pairs}
        links = corpus_links(corpus, packed, attention_links(system, layer), folder, made, process)
    origin = f"{translation} {checksum_of(folder / 'cells')[:16]}"
    models = {direction: way.translation for direction, way in system.ways.items()}
    train_joint(models, config, packed, links, run / "joint", origin, process)
    attend = partial(joint_attention, models, config.layer - 1)
    return lines + (score_system(system, gold, "joint", attend, BOTH_WAYS) if gold else [])


def overview(recipe: Recipe, run: Path) -> str:
    """The stages of a recipe and how far each of them is, one a line."""
    translation = Path(recipe.translation or run)
    stages = [(f"translate {way}", translation / way, "model/config.json") for way in recipe.directions]
    if "align" in recipe.stages:
        stages.append(("align", run / "align", "layers.safetensors"))
    if "guide" in recipe.stages:
        for number in range(1, recipe.guided.rounds + 1):
            stages.append((f"links {number}", run / f"links-{number}", "manifest.json"))
            stages.append((f"guide {number}", run / f"guide-{number}", "layers.safetensors"))
    if "distil" in recipe.stages:
        stages.append(("distil", run / "distil", "scorer.safetensors"))
    if "joint" in recipe.stages:
        stages.append(("links", run / "links-1", "manifest.json"))
        stages += [(f"joint {way}", run / "joint" / way, "model.safetensors") for way in recipe.directions]
    width = max(len(name) for name, _, _ in stages)
    return "\n".join(f"{name:{width}}  {_state(folder, result)}" for name, folder, result in stages)


def _state(folder: Path, result: str) -> str:
    if (folder / result).exists():
        return "finished"
    updates = [int(path.stem.rpartition("-")[2]) for path in folder.glob("checkpoint-*.safetensors")]
    return f"goes on from update {max(updates):,}" if updates else "to do"


def _forget(run: Path) -> None:
    """Remove what training has made; the prepared corpus stays."""
    for pattern in (
        "forward",
        "backward",
        "align",
        "align-restart-*",
        "links-*",
        "guide-*",
        "distil",
        "joint",
        "model",
        "aligner",
    ):
        for folder in run.glob(pattern):
            shutil.rmtree(folder)


def _prepared(recipe: Recipe, run: Path, process: Process) -> PreparedCorpus:
    if recipe.prepared:
        return open_prepared(Path(recipe.prepared))
    folder = run / "corpus"
    if process.first:
        if folder.exists():
            _check_same(recipe, folder)
        else:
            corpus = Corpus(recipe.files, recipe.source, recipe.target)
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
