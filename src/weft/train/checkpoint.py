"""Checkpoints: everything that training needs to go on as if it had never stopped, in one safetensors file.

The data order and the random numbers of an update are functions of its number, so a checkpoint is the weights, the
state of the optimisers, the number of updates, and the settings under which they were made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from weft.errors import WeftError
from weft.storage import atomic_file
from weft.train.stages import compare_settings

_GO_ON = "remove it to go on from the one before, or from the beginning if there is none"
_MAKE_AGAIN = "remove its folder to make this part again"


def state_tensors(module: nn.Module, optimisers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """Return all tensors to save, by name; they share memory with the originals."""
    tensors = {f"model.{name}": value for name, value in module.state_dict().items()}
    for number, optimiser in enumerate(optimisers):
        for index, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{index}.{name}": value for name, value in state.items()}
    return tensors


def write_file(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file that either is complete or isn't there."""
    with atomic_file(path) as partial:
        # Not by save_file, which puts another file in the place of the locked one, for its owner alone.
        partial.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


class Checkpoints:
    """The checkpoints of one run, newest last. ``settings`` must be the same whenever the run is taken up again."""

    def __init__(self, folder: Path, settings: dict[str, Any], keep: int = 1) -> None:
        self.folder, self.settings, self.keep = folder, settings, max(1, keep)

    def paths(self) -> list[Path]:
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

    def save(self, update: int, seconds: float, module: nn.Module, optimisers: Sequence[torch.optim.Optimizer]) -> None:
        """Write a checkpoint and remove those that are no longer needed."""
        metadata = {"update": str(update), "seconds": repr(seconds), "settings": json.dumps(self.settings)}
        path = self.folder / f"checkpoint-{update:08}.safetensors"
        write_file(path, state_tensors(module, optimisers), metadata)
        for old in self.paths()[: -self.keep]:
            old.unlink()

    def check(self) -> None:
        """Raise WeftError if the newest checkpoint is damaged or was made with other settings."""
        for path in self.paths()[-1:]:
            with open_tensors(path, torch.device("cpu"), _GO_ON) as file:
                metadata = file.metadata() or {}
            if not metadata.keys() >= {"update", "seconds", "settings"}:
                raise WeftError(f"{path}: damaged (it does not say what it is of); {_GO_ON}")
            compare_settings(path, json.loads(metadata["settings"]), self.settings)

    def resume(
        self, module: nn.Module, optimisers: Sequence[torch.optim.Optimizer], device: torch.device
    ) -> tuple[int, float]:
        """Load the newest checkpoint. Returns the number of updates made so far and the seconds they took."""
        paths = self.paths()
        if not paths:
            return 0, 0.0
        with open_tensors(paths[-1], device, _GO_ON) as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.offset_keys()}
        weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
        _put_weights(module, weights, paths[-1], _GO_ON)
        for number, optimiser in enumerate(optimisers):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in tensors.items():
                if name.startswith(f"optimiser.{number}."):
                    index, _, key = name.removeprefix(f"optimiser.{number}.").partition(".")
                    state.setdefault(int(index), {})[key] = value
            optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
        return int(metadata["update"]), float(metadata["seconds"])

    def averaged_weights(self, module: nn.Module) -> dict[str, Tensor]:
        """Return the mean of the model's weights over the checkpoints to keep; its own if there are none."""
        paths = self.paths()[-self.keep :]  # a kill may have left one more
        if not paths:  # there was nothing to train
            return module.state_dict()
        total: dict[str, Tensor] = {}
        for path in paths:
            with open_tensors(path, torch.device("cpu"), _GO_ON) as file:
                for name in module.state_dict():
                    weight = file.get_tensor(f"model.{name}").double()
                    total[name] = total[name] + weight if name in total else weight
        return {name: (value / len(paths)).float() for name, value in total.items()}


def save_weights(path: Path, module: nn.Module) -> None:
    """Write the weights of a finished stage."""
    write_file(path, dict(module.state_dict()))


def load_weights(path: Path, module: nn.Module) -> None:
    """Load what ``save_weights`` wrote."""
    with open_tensors(path, torch.device("cpu")) as file:
        weights = {name: file.get_tensor(name) for name in file.offset_keys()}
    _put_weights(module, weights, path, _MAKE_AGAIN)


def _put_weights(module: nn.Module, weights: dict[str, Tensor], path: Path, remedy: str) -> None:
    try:
        module.load_state_dict(weights)
    except RuntimeError:  # names every tensor that is missing, in as many lines
        raise WeftError(f"{path}: damaged (it has other weights than this part); {remedy}") from None


def open_tensors(path: Path, device: torch.device, remedy: str = _MAKE_AGAIN) -> Any:
    """Open a safetensors file. Raises WeftError, with what to do, if it is damaged or missing."""
    try:
        return safe_open(path, framework="pt", device=str(device))
    except (OSError, SafetensorError) as error:
        raise WeftError(f"{path}: damaged ({error}); {remedy}") from None
