"""The targets of ``fuzz/coverage_guided.py``: with their seeds, and for a moment with atheris."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

HARNESS = Path(__file__).parents[1] / "fuzz" / "coverage_guided.py"


@pytest.fixture(scope="module")
def harness() -> ModuleType:
    described = importlib.util.spec_from_file_location("coverage_guided", HARNESS)
    assert described and described.loader
    loaded = importlib.util.module_from_spec(described)
    described.loader.exec_module(loaded)
    return loaded


def test_targets_take_their_seeds_and_refuse_what_is_left_of_them(harness: ModuleType) -> None:
    generator = random.Random(1)
    for name, (run, seeds) in harness.targets().items():
        assert seeds, name
        for seed in seeds:
            run(seed)  # is not refused
            for _ in range(5):
                harness.refused(run, seed[: generator.randrange(len(seed))])


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris")
def test_a_moment_of_fuzzing_finds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, str(HARNESS), "all", "-runs=3000", "-seed=1"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0 and "Done 3000 runs" in result.stderr, result.stderr[-3_000:]
