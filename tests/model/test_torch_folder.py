"""Model folders: what is written is read again, and damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from weft.config import PRESETS
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.torch_folder import load_translation, save_translation
from weft.model.translation import TranslationModel

CPU = torch.device("cpu")


@pytest.fixture
def folder(corpus: PreparedCorpus, tmp_path: Path) -> Path:
    torch.manual_seed(0)
    model = TranslationModel(PRESETS["tiny"], len(corpus.subwords))
    folder = tmp_path / "model"
    save_translation(folder, model.state_dict(), PRESETS["tiny"], corpus.subwords, "backward", {"updates": 3})
    return folder


def test_round_trip(folder: Path, corpus: PreparedCorpus) -> None:
    loaded = load_translation(folder, CPU)
    torch.manual_seed(0)
    expected = TranslationModel(PRESETS["tiny"], len(corpus.subwords)).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in loaded.model.state_dict().items())
    assert loaded.direction == "backward" and not loaded.model.training
    assert loaded.subwords.text == corpus.config.text
    assert loaded.subwords.cut("the old king") == corpus.subwords.cut("the old king")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1  # all for the same readers


@pytest.mark.parametrize(
    ("name", "damage", "problem"),
    [
        ("config.json", "missing", ": not a model folder (no config.json)"),
        ("config.json", "cut", "/config.json: damaged: not JSON"),
        ("config.json", "other", "/config.json: not of the format 'weft translation model 1'"),
        (
            "model.safetensors",
            "missing",
            "/model.safetensors: not the weights of this model: No such file or directory",
        ),
        ("model.safetensors", "cut", "/model.safetensors: not the weights of this model: Error while deserializing"),
        ("model.safetensors", "other", "/model.safetensors: not the weights of this model: Error while deserializing"),
        ("tokenizer.json", "missing", "/tokenizer.json: No such file or directory"),
        ("tokenizer.json", "cut", "/tokenizer.json: not a tokenizer file: "),
        ("tokenizer.json", "other", "/tokenizer.json: not a tokenizer file: "),
    ],
)
def test_damage_is_named(folder: Path, name: str, damage: str, problem: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "other":
        path.write_text(json.dumps({"format": "something else"}))
    with pytest.raises(WeftError) as error:
        load_translation(folder, CPU)
    assert str(error.value).startswith(f"{folder}{problem}")


def test_shapes_are_checked_before_memory_is_taken(folder: Path) -> None:
    described = json.loads((folder / "config.json").read_text())
    described["model"]["width"] = 2**24  # a table of terabytes
    (folder / "config.json").write_text(json.dumps(described))
    with pytest.raises(WeftError, match=r"not the weights of this model: .* but config\.json wants"):
        load_translation(folder, CPU)
    del described["model"]
    (folder / "config.json").write_text(json.dumps(described))
    with pytest.raises(WeftError, match="damaged, it has no 'model'"):
        load_translation(folder, CPU)
