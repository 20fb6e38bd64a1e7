"""``weft models``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from weft.align import model_folder
from weft.cli.models import models
from weft.errors import WeftError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of one shipped model, as the only one."""
    shutil.copytree(model_folder.shipped_models()["ro-en"], tmp_path / "ro-en")
    monkeypatch.setattr(model_folder, "SHIPPED", tmp_path)
    return tmp_path / "ro-en"


def test_a_list_and_a_card(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "README.md").write_text("# Title\n\nA model\nof ours.\n\nMore.\n")
    models()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("ro-en  ") and line.endswith(" MB  A model of ours.")
    for name in ("ro-en", str(folder)):
        models(name)
        assert capsys.readouterr().out == "# Title\n\nA model\nof ours.\n\nMore.\n"


def test_cards_do_not_control_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "README.md").write_text("# T\n\n\x1b[2Jgone\x1b]0;title\x07\n")
    models()
    models("ro-en")
    assert "\x1b" not in (out := capsys.readouterr().out) and "\x07" not in out and out.count("gone") == 2


def test_what_is_no_model_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="nothing: neither a shipped model"):
        models("nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeftError, match=r"README\.md"):
        models(str(tmp_path / "empty"))
