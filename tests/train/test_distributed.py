"""Processes and devices."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tiny_runs import TRAINING

from weft.errors import WeftError
from weft.train import task
from weft.train.distributed import join_processes


def test_too_little_memory_is_one_line_with_a_remedy() -> None:
    with pytest.raises(WeftError, match="too little memory; lower target_tokens"), join_processes():
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")


@pytest.mark.parametrize("has_half", [True, False])
def test_half_precision_only_if_the_gpu_has_it(has_half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "has_half_precision", lambda device: has_half)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    gpu, wanted = torch.device("cuda"), dataclasses.replace(TRAINING, precision="bfloat16")
    assert task.trains_in_half(TRAINING, gpu) == has_half
    assert task.trains_in_half(wanted, torch.device("cpu"))
    if has_half:
        assert task.trains_in_half(wanted, gpu)
    else:
        with pytest.raises(WeftError, match="Some GPU has no bfloat16; choose precision auto"):
            task.trains_in_half(wanted, gpu)
