"""A packed corpus that lives on the device, and the precision to compute in: what the tasks of all stages share."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from weft.config import TrainingConfig
from weft.model.system import PairRows
from weft.text.batches import PackedRows


class ResidentRows:
    """The rows of a corpus as tensors."""

    def __init__(self, rows: PackedRows, device: torch.device) -> None:
        # int32: the smallest type that torch can index with, gather from and compare on every device
        self.source = torch.from_numpy(rows.source.astype("int32")).to(device)  # (rows, source length)
        self.target = torch.from_numpy(rows.target.astype("int32")).to(device)

    def pair(self, rows: Tensor) -> PairRows:
        """Some of the rows."""
        return PairRows.of(self.source[rows], self.target[rows])


def trains_in_half(config: TrainingConfig, device: torch.device) -> bool:
    return config.precision == "bfloat16" or (config.precision == "auto" and device.type == "cuda")


def precision(config: TrainingConfig, device: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast(device.type, torch.bfloat16) if trains_in_half(config, device) else nullcontext()
