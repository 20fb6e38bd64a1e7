"""Run a recipe, from text to a trained aligner: prepare, then the stages of the pipeline, then a report."""

from __future__ import annotations

import shutil
from pathlib import Path

from weft.errors import WeftError
from weft.progress import say
from weft.recipe import Recipe
from weft.settings import to_dict
from weft.text.corpus import Corpus
from weft.text.prepare import prepare, report
from weft.text.prepared import PreparedCorpus, open_prepared, read_manifest
from weft.train.distributed import Process, join_processes
from weft.train.pipeline import Pipeline
from weft.train.report import Gold, write_report
from weft.train.stage import WEIGHTS


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
        if "joint" in recipe.stages:
            pipeline.joint()
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
    if "joint" in recipe.stages:
        stages.append(("links", run / "links-1", "manifest.json"))
        stages += [(f"joint {way}", run / "joint" / way, WEIGHTS) for way in recipe.directions]
    width = max(len(name) for name, _, _ in stages)
    return "\n".join(f"{name:{width}}  {_state(folder, result)}" for name, folder, result in stages)


def _state(folder: Path, result: str) -> str:
    if (folder / result).exists():
        return "finished"
    updates = [int(path.stem.rpartition("-")[2]) for path in folder.glob("checkpoint-*.safetensors")]
    return f"goes on from update {max(updates):,}" if updates else "to do"


def _forget(run: Path) -> None:
    """Remove what training has made; the prepared corpus stays."""
    stages = ("forward", "backward", "align", "align-restart-*", "links-*", "guide-*", "distil", "fast", "joint")
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
