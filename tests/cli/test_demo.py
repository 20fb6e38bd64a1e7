"""``weft demo``; tests/train/test_pipeline.py runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.demo import run_demo
from weft.errors import WeftError


@pytest.mark.parametrize("others", [["notes.txt"], ["text.tsv", "notes.txt"], ["text.tsv", "run", "corpus.de"]])
def test_only_an_old_demo_is_started_again(others: list[str], tmp_path: Path) -> None:
    for name in others:
        (tmp_path / name).touch()
    with pytest.raises(WeftError, match="already exists; choose another folder"):
        run_demo(tmp_path, pairs=10, updates=1, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
