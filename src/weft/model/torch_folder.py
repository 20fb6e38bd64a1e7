"""Models on disk, as a hub repository looks: config.json, model.safetensors, tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from weft.config import Direction, ModelConfig, TextConfig
from weft.config_io import from_dict, to_dict
from weft.errors import WeftError
from weft.model.translation import TranslationModel
from weft.storage import atomic_folder, read_description, write_json
from weft.text.subwords import Subwords

TRANSLATION = "weft translation model 1"
Built = TypeVar("Built", bound=nn.Module)


class Content(NamedTuple):
    """The content of the folder of any torch model."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    subwords: Subwords


def write_folder(folder: Path, form: str, content: Content) -> None:
    """Write a torch model."""
    config, weights, subwords = content
    weights = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
    described = {"format": form, "vocabulary": len(subwords), "text": to_dict(subwords.text), **config}
    with atomic_folder(folder) as partial:
        # Not by save_file, which makes files that only their owner can read.
        (partial / "model.safetensors").write_bytes(save(weights))
        subwords.save(partial / "tokenizer.json")
        write_json(partial / "config.json", described)


def read_folder(folder: Path, form: str, needs: Sequence[str]) -> Content:
    """Read a folder of the format ``form``, whose config has the members ``needs``; weights in full precision."""
    path = folder / "config.json"
    config = read_description(path, form, "model folder", needs=("text", "vocabulary", *needs))
    text = from_dict(TextConfig, config["text"], f"{path}: text")
    subwords = Subwords.load(folder / "tokenizer.json", text, config["vocabulary"])
    weights_path = folder / "model.safetensors"
    try:
        weights = {name: value.float() for name, value in load_file(weights_path).items()}
    except (OSError, SafetensorError) as error:
        raise not_these_weights(folder, error) from None
    return Content(config, weights, subwords)


def with_weights(build: Callable[[], Built], weights: dict[str, Tensor], folder: Path) -> Built:
    """Build a model and load its weights. Shapes are checked before memory is taken."""
    with torch.device("meta"):
        wanted = {name: tuple(value.shape) for name, value in build().state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            problem = f"{name} is {found.get(name, 'not there')}, but config.json wants {wanted.get(name, 'none')}"
            raise not_these_weights(folder, problem)
    model = build()
    model.load_state_dict(weights)
    return model


def not_these_weights(folder: Path, problem: object) -> WeftError:
    return WeftError(f"{folder / 'model.safetensors'}: not the weights of this model: {str(problem).splitlines()[0]}")


@dataclass(frozen=True)
class LoadedModel:
    """A translation model ready to use, with the text processing that belongs to it."""

    model: TranslationModel
    subwords: Subwords
    direction: Direction


def save_translation(
    folder: Path,
    weights: dict[str, Tensor],
    model: ModelConfig,
    subwords: Subwords,
    direction: Direction,
    training: dict[str, Any],
) -> None:
    config = {"direction": direction, "model": to_dict(model), "training": training}
    write_folder(folder, TRANSLATION, Content(config, weights, subwords))


def load_translation(folder: Path, device: torch.device) -> LoadedModel:
    """Load a translation model for inference."""
    config, weights, subwords = read_folder(folder, TRANSLATION, needs=("model", "direction"))
    shape = from_dict(ModelConfig, config["model"], f"{folder / 'config.json'}: model")
    model = with_weights(lambda: TranslationModel(shape, config["vocabulary"]), weights, folder)
    return LoadedModel(model.to(device).eval(), subwords, config["direction"])
