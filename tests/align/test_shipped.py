"""Names of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.align import shipped
from weft.apps.models import list_models
from weft.errors import WeftError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models that come with weft."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    for name in ("ro-en", "de-en"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "README.md").write_text(f"# {name}\n\nA model\nfor {name}.\n\nMore.\n")
    (tmp_path / "not-a-model").mkdir()
    return tmp_path


def test_names_and_paths(folder: Path) -> None:
    assert shipped.shipped_models() == {"de-en": folder / "de-en", "ro-en": folder / "ro-en"}
    assert shipped.find_model("de-en") == folder / "de-en"
    assert shipped.find_model(str(folder)) == folder
    with pytest.raises(WeftError, match="use --model de-en --reverse"):
        shipped.find_model("en-de")
    with pytest.raises(WeftError, match=r"xx: neither a shipped model \(de-en, ro-en\) nor a model folder"):
        shipped.find_model("xx")


def test_the_list_shows_name_size_and_first_paragraph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_models()
    assert capsys.readouterr().out == "de-en   0.0 MB  A model for de-en.\nro-en   0.0 MB  A model for ro-en.\n"
