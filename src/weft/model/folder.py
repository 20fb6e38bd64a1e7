"""A model on disk, as a hub repository looks: config.json, model.safetensors, tokenizer.json."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.config import Direction, ModelConfig, TextConfig, from_dict, to_dict
from weft.errors import WeftError
from weft.model.translation import TranslationModel
from weft.text.subwords import Subwords

FORMAT = "weft translation model 1"


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to use, with the text processing that belongs to it."""

    model: TranslationModel
    subwords: Subwords
    direction: Direction

    @property
    def text(self) -> TextConfig:
        return self.subwords.text

    @property
    def languages(self) -> tuple[str, str]:
        """The languages the model translates from and to; ``text`` names those of the corpus."""
        pair = self.text.source_language, self.text.target_language
        return pair if self.direction == "forward" else pair[::-1]


class ModelFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(
        self,
        weights: dict[str, Tensor],
        model: ModelConfig,
        subwords: Subwords,
        direction: Direction,
        training: dict[str, Any],
    ) -> None:
        """Write all files, then move them into place at once."""
        config = {
            "format": FORMAT,
            "direction": direction,
            "vocabulary": len(subwords),
            "model": to_dict(model),
            "text": to_dict(subwords.text),
            "training": training,
        }
        staging = self.folder.with_name(f"{self.folder.name}.partial")
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir(parents=True)
            cpu_weights = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
            save_file(cpu_weights, staging / "model.safetensors")
            subwords.save(staging / "tokenizer.json")
            (staging / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(self.folder, ignore_errors=True)
            staging.rename(self.folder)
        except (OSError, SafetensorError) as error:
            shutil.rmtree(staging, ignore_errors=True)
            raise WeftError(f"{self.folder}: cannot be written: {error}") from None

    def load(self, device: torch.device) -> LoadedModel:
        """Load the model for inference."""
        path = self.folder / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise WeftError(f"{self.folder}: not a model folder (no config.json)") from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise WeftError(f"{path}: damaged") from None
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise WeftError(f"{path}: not of the format '{FORMAT}'")
        subwords = Subwords.load(self.folder / "tokenizer.json", from_dict(TextConfig, config["text"], f"{path}: text"))
        shape = from_dict(ModelConfig, config["model"], f"{path}: model")
        weights_path = self.folder / "model.safetensors"
        try:
            weights = load_file(weights_path)
            model = TranslationModel(shape, config["vocabulary"])
            model.load_state_dict({name: value.float() for name, value in weights.items()})
        except (OSError, SafetensorError, RuntimeError) as error:
            raise WeftError(f"{weights_path}: not the weights of this model: {str(error).splitlines()[0]}") from None
        return LoadedModel(model.to(device).eval(), subwords, config["direction"])
