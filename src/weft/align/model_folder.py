"""The model folder of a small aligner: config.json, model.onnx, tokenizer.json and README.md."""

from __future__ import annotations

import json
import os
from pathlib import Path

from weft.align.graph import check_graph
from weft.config import AlignerConfig
from weft.config_io import from_dict
from weft.errors import WeftError
from weft.storage import read_description
from weft.text.subwords import Subwords

FORMAT = "weft aligner 1"
GRAPH = "model.onnx"
WAYS = ("forward", "backward")  # what the graph gives
FAST = "fast_"  # in front of these, for what the fast encoders give


def read_aligner(folder: Path, fast: bool = False) -> tuple[AlignerConfig, Subwords]:
    """What a folder says of its aligner, which must have ``fast`` encoders if they are wanted.

    Its graph has been looked through and may be loaded, wherever it comes from.
    """
    path = folder / "config.json"
    described = read_description(path, FORMAT, "model folder of a small aligner", needs=("text", "encoders"))
    config = from_dict(AlignerConfig, described, str(path))
    if fast and not config.fast.layers:
        raise WeftError(f"{folder}: this aligner has no fast encoders")
    subwords = Subwords.load(folder / "tokenizer.json", config.text, config.vocabulary)
    check_graph(folder / GRAPH, config.vocabulary)
    return config, subwords


def is_small_aligner(folder: Path) -> bool:
    """Whether a model folder holds a small aligner and not a whole system."""
    try:
        return json.loads((folder / "config.json").read_text(encoding="utf-8")).get("format") == FORMAT
    except (OSError, ValueError, AttributeError):
        return False


FOLDER = Path(__file__).parent.parent / "models"


def shipped_models() -> dict[str, Path]:
    """The folders of all shipped models by name, such as de-en."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/config.json"))}


def find_model(model: str | os.PathLike[str]) -> Path:
    """Find the folder of a shipped model by its name, or of any model by its path."""
    models, name = shipped_models(), os.fspath(model)
    if name in models:
        return models[name]
    path = Path(name)
    if path.is_dir():
        return path
    turned = "-".join(reversed(name.split("-")))
    if turned in models:
        raise WeftError(f"{name}: use {turned} and reverse; the same model aligns both directions")
    raise WeftError(f"{name}: neither a shipped model ({', '.join(models) or 'there is none'}) nor a model folder")


def card(folder: Path) -> str:
    """What a model's README.md says of it."""
    path = folder / "README.md"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WeftError(f"{path}: {error.strerror}") from None
