"""Model folders from strangers: every kind of damage and mischief has its error before anything is loaded."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from weft.align.graph import check_graph
from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner
from weft.errors import WeftError

ORIGINAL = shipped_models()["ro-en"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ORIGINAL, tmp_path / "model"))


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("config.json", lambda config: config.pop("threshold"), "missing 1 required positional argument: 'threshold'"),
        ("config.json", lambda config: config.update(threshold="high"), "threshold must be of type float"),
        ("config.json", lambda config: config.update(threshold=7), "threshold must be at least 0 and below 1"),
        ("config.json", lambda config: config.pop("text"), "it has no 'text'"),
        ("config.json", lambda config: config.update(text=3), "text must be a table of settings"),
        ("config.json", lambda config: config.update(vocabulary=300), "has 16,258 pieces, but config.json says 300"),
        ("config.json", lambda config: config.update(format="weft aligner 9"), "not of the format 'weft aligner 1'"),
        ("config.json", lambda config: config.update(command="rm"), "unknown setting 'command'"),
        ("tokenizer.json", lambda it: it.update(normalizer={"type": "Lowercase"}), "it has rules of its own"),
        ("tokenizer.json", lambda it: it["model"].update(vocab={"a": 0}, merges=[]), "not a tokenizer"),
    ],
)
def test_descriptions_are_checked(folder: Path, name: str, change: Callable[[dict], None], problem: str) -> None:
    described = json.loads((folder / name).read_text(encoding="utf-8"))
    change(described)
    (folder / name).write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(WeftError, match=problem):
        Aligner(folder)


def _elsewhere(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../../etc/passwd")


def _huge(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[0] = 10**12


def _other_operator(model: onnx.ModelProto) -> None:
    model.graph.node.append(helper.make_node("ConstantOfShape", ["source"], ["much"]))


def _graph_within(model: onnx.ModelProto) -> None:
    inner = helper.make_graph([], "inner", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("body", inner))


def _few_words(model: onnx.ModelProto) -> None:
    table = model.graph.initializer[0]
    table.dims[0] = 100
    table.raw_data = table.raw_data[: 100 * table.dims[1]]


def _function(model: onnx.ModelProto) -> None:
    model.functions.add(name="mine", domain="elsewhere")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_elsewhere, "damaged"),
        (_huge, "damaged"),
        (_other_operator, "the operator ConstantOfShape does not belong"),
        (_graph_within, "does not belong"),
        (_few_words, "the tokenizer has 16,258 pieces, but the graph fewer"),
        (_function, "not the graph of a small aligner"),
    ],
)
def test_graphs_are_checked(folder: Path, change: Callable[[onnx.ModelProto], None], problem: str) -> None:
    model = onnx.load(folder / "model.onnx")
    change(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(WeftError, match=problem):
        Aligner(folder)


def test_two_graphs_in_one_file_are_refused(folder: Path) -> None:
    """A parser would join them, so that what is checked and what is loaded could differ."""
    content = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(content + content)
    with pytest.raises(WeftError, match="not the graph of a small aligner"):
        Aligner(folder)


def test_a_graph_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    content = (ORIGINAL / "model.onnx").read_bytes()
    generator = random.Random(1)
    path = tmp_path / "model.onnx"
    for end in [0, 1, 2, 100, len(content) - 1, *(generator.randrange(len(content)) for _ in range(20))]:
        path.write_bytes(content[:end])
        with pytest.raises(WeftError, match=r"damaged or truncated|not the graph of a small aligner"):
            check_graph(path, 16_258)


def test_any_bytes_have_an_answer(tmp_path: Path) -> None:
    generator = random.Random(2)
    path = tmp_path / "model.onnx"
    for _ in range(200):
        path.write_bytes(generator.randbytes(generator.randrange(1, 300)))
        with pytest.raises(WeftError):
            check_graph(path, 16_258)
