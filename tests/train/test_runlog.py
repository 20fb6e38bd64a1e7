"""Logs of metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.train.runlog import RunLog, find_metrics, read_metrics


def test_lines_newer_than_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    log = RunLog(tmp_path, 0)
    for update in (5, 10, 15):
        log.write(update=update, loss=1.0)
    RunLog(tmp_path, 10).write(update=12, loss=2.0)
    assert [line["update"] for line in read_metrics(tmp_path / "metrics.jsonl")] == [5, 10, 12]


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = json.dumps({"update": 5})
    path.write_bytes(f'{whole}\n[1]\n{{"update": 1{{}}\n'.encode() + b'{"upd\xff')
    assert read_metrics(path) == [{"update": 5}]
    assert read_metrics(tmp_path / "none.jsonl") == []


def test_there_must_be_a_run_to_draw(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="give the folder of a run"):
        find_metrics([])
    with pytest.raises(WeftError, match=r"no metrics\.jsonl in it"):
        find_metrics([tmp_path])
