"""What only a GPU can show: compiled, half-precision, graph-replayed updates equal plain ones. Skipped without one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from weft.config import PRESETS, Direction, TrainingConfig
from weft.corpus.prepared import PreparedCorpus
from weft.recipe import StartConfig
from weft.train.distributed import Process
from weft.train.runlog import read_metrics
from weft.train.stage_translate import train_translation

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.filterwarnings("ignore"),  # torch's compiler warns about itself
]

CONFIG = TrainingConfig(updates=200, target_tokens=4_000, warm_up=10, log_every=20, learning_rate=2e-3)


def losses(
    corpus: PreparedCorpus, folder: Path, directions: tuple[Direction, ...], **changes: Any
) -> dict[Direction, list[float]]:
    config = dataclasses.replace(CONFIG, **changes)
    process = Process(0, 1, torch.device("cuda"))
    folders = {direction: folder / direction for direction in directions}
    train_translation(corpus, PRESETS["paper"], config, folders, StartConfig(), process)
    return {
        direction: [line["loss"] for line in read_metrics(folder / direction / "metrics.jsonl")]
        for direction in directions
    }


def test_fast_updates_of_both_directions_equal_plain_ones(corpus: PreparedCorpus, tmp_path: Path) -> None:
    fast = losses(corpus, tmp_path / "fast", ("forward", "backward"))
    for direction, found in fast.items():
        plain = losses(corpus, tmp_path / "plain", (direction,), precision="float32", compile="no")
        assert found == pytest.approx(plain[direction], abs=5e-3)


def test_a_resumed_run_goes_on_where_it_was(corpus: PreparedCorpus, tmp_path: Path) -> None:
    settings = {"checkpoint_every": 100, "average": 2}  # keeps the checkpoint before the last one
    whole = losses(corpus, tmp_path, ("forward",), **settings)
    (tmp_path / "forward" / "checkpoint-00000200.safetensors").unlink()
    (tmp_path / "forward" / "finished.json").unlink()
    resumed = losses(corpus, tmp_path, ("forward",), **settings)
    assert resumed["forward"] == pytest.approx(whole["forward"], abs=5e-3)
    assert resumed["forward"][:5] == whole["forward"][:5]  # those lines were kept
