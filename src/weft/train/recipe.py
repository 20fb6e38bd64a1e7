"""Run a recipe: prepare its text where that has not been done, then train. What is finished is not done again."""

from __future__ import annotations

from pathlib import Path

from weft.config import Direction, Recipe, to_dict
from weft.errors import WeftError
from weft.progress import say
from weft.text.corpus import Corpus
from weft.text.prepare import prepare, report
from weft.text.prepared import PreparedCorpus, open_prepared, read_manifest
from weft.train.distributed import Process, join_processes
from weft.train.translate import train_translation


def run_recipe(recipe: Recipe, force: bool = False) -> dict[Direction, Path]:
    """All stages of a recipe; the folders of the models. ``force`` starts the training again from nothing."""
    run = Path(recipe.run)
    with join_processes() as process:
        corpus = _prepared(recipe, run, process)
        return train_translation(corpus, recipe.model, recipe.training, recipe.directions, run, process, force)


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
