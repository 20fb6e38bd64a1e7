"""``weft show`` with models."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.show import show
from weft.errors import WeftError


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sentence pairs; of the second one side is empty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").write_text("casa veche\n\n")
    (tmp_path / "target").write_text("the old house\nyes\n")
    return tmp_path


def test_the_links_of_a_small_aligner(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show("source", "target", model="ro-en", line=(1, 2))
    first, second = capsys.readouterr().out.split("line 2")
    assert "ro-en" in first and "house │ ●" in first and "yes │" in second


def test_folders_that_hold_no_model_are_named(text: Path) -> None:
    for model in ("", str(text)):
        with pytest.raises(WeftError, match="not a model folder"):
            show("source", "target", model=model)
    (text / "config.json").write_text("{")
    with pytest.raises(WeftError, match=r"config\.json: damaged"):
        show("source", "target", model=str(text))
