"""Names of models, and the models that are model_folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.align import model_folder
from weft.cli.models import list_models
from weft.errors import WeftError
from weft.recipe import GoldConfig
from weft.train.report import Gold, score_aligner

MODELS = model_folder.shipped_models()
MOST = {"de-en": 0.153, "en-fr": 0.044, "ro-en": 0.220}  # error rates
COST_OF_FAST = 0.005


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models that come with weft."""
    monkeypatch.setattr(model_folder, "FOLDER", tmp_path)
    for name in ("ro-en", "de-en"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "README.md").write_text(f"# {name}\n\nA model\nfor {name}.\n\nMore.\n")
    (tmp_path / "not-a-model").mkdir()
    return tmp_path


def test_names_and_paths(folder: Path) -> None:
    assert model_folder.shipped_models() == {"de-en": folder / "de-en", "ro-en": folder / "ro-en"}
    assert model_folder.find_model("de-en") == folder / "de-en"
    assert model_folder.find_model(str(folder)) == folder
    with pytest.raises(WeftError, match="en-de: use de-en and reverse; the same model"):
        model_folder.find_model("en-de")
    with pytest.raises(WeftError, match=r"none: neither a shipped model"):
        model_folder.find_model(Path("none"))
    with pytest.raises(WeftError, match=r"xx: neither a shipped model \(de-en, ro-en\) nor a model folder"):
        model_folder.find_model("xx")


def test_the_list_shows_name_size_and_first_paragraph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list_models()
    assert capsys.readouterr().out == "de-en   0.0 MB  A model for de-en.\nro-en   0.0 MB  A model for ro-en.\n"


def test_what_is_shipped_is_small() -> None:
    sizes = {name: sum(path.stat().st_size for path in folder.iterdir()) for name, folder in MODELS.items()}
    assert sizes.keys() == MOST.keys()
    assert max(sizes.values()) <= 20e6 and sum(sizes.values()) <= 45e6


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_card(name: str) -> None:
    card = model_folder.card(MODELS[name])
    for part in ("Data", "Licence of the data", "Training", "Quality", "Limits"):
        assert f"**{part}.**" in card
    assert "`sentences:" in card  # the signature of the score


@pytest.mark.parametrize("name", MODELS)
def test_error_rates_where_the_gold_is_at_hand(name: str) -> None:
    """Gold sentences are not part of weft: the files of the recipe reproduction, if somebody has them."""
    folder = Path(__file__).parents[2] / "data" / name
    if not (folder / "dev.gold").exists():
        pytest.skip(f"{folder} has no gold links")
    source, target, links = (str(folder / f"dev.{part}") for part in ("src", "tgt", "gold"))
    gold = Gold.read(GoldConfig(source, target, links))
    error = score_aligner(MODELS[name], gold).score.aer
    assert error <= MOST[name]
    assert score_aligner(MODELS[name], gold, fast=True).score.aer <= error + COST_OF_FAST
