"""A recipe for a tiny run, and a way to make one in this process."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, Run, train_forward
from torch import Tensor

from weft.corpus.prepared import PreparedCorpus


@pytest.fixture
def run(corpus: PreparedCorpus, tmp_path: Path) -> Run:
    """Train in this process; the weights of the forward model. Keyword arguments change the training config."""

    def run(name: str = "run", **changes: Any) -> dict[str, Tensor]:
        model = train_forward(corpus, tmp_path / name, dataclasses.replace(TRAINING, **changes))
        return load_file(model / "model.safetensors")

    return run


@pytest.fixture
def recipe_file(corpus: PreparedCorpus, tmp_path: Path) -> Path:
    """The same run as a recipe, for processes of their own; both directions."""
    path = tmp_path / "recipe.toml"
    settings = "\n".join(
        f"{name} = {value!r}".replace("'", '"') for name, value in dataclasses.asdict(TRAINING).items()
    )
    model = "\n".join(f"{name} = {value}" for name, value in dataclasses.asdict(MODEL).items())
    top = f'run = "{tmp_path / "run"}"\nprepared = "{corpus.folder}"\nstages = ["translate"]\n'
    path.write_text(f"{top}[model]\n{model}\n[training]\n{settings}\n", encoding="utf-8")
    return path
