"""Settings on the command line and in files."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from weft.config import PrepareConfig, TuneConfig
from weft.config_io import from_dict, put_settings, split_settings, to_dict, with_settings
from weft.errors import WeftError
from weft.recipe import GoldConfig


def test_true_is_not_one() -> None:
    assert from_dict(GoldConfig, {"base": 1}, "gold").base == 1
    with pytest.raises(WeftError, match="gold: base must be one of 0, 1, not True"):
        from_dict(GoldConfig, {"base": True}, "gold")


def test_settings_of_any_config() -> None:
    tuned = with_settings(TuneConfig(), ["training.updates=5", "pairs=7"])
    assert tuned.pairs == 7 and tuned.training == dataclasses.replace(TuneConfig().training, updates=5)
    assert with_settings(PrepareConfig(), ["text.sharp_s=true"]).text.sharp_s
    assert with_settings(PrepareConfig(), []) == PrepareConfig()


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ("merge=5", "did you mean merges?"),
        ("sharp_s=true", "did you mean text.sharp_s?"),  # it is in a table
        ("text.sharp=true", "did you mean sharp_s?"),
        ("xyz=5", "known ones are text, "),
    ],
)
def test_an_unknown_setting_is_answered_with_what_is_known(wrong: str, remedy: str) -> None:
    with pytest.raises(WeftError, match=rf"settings.*: unknown setting '\w+'; {re.escape(remedy)}"):
        with_settings(PrepareConfig(), [wrong])


def test_values_are_toml_or_plain_text() -> None:
    values = put_settings({"a": {"b": 1}}, ["a.c=[1, 2]", "name=some text", "x.y=true"])
    assert values == {"a": {"b": 1, "c": [1, 2]}, "name": "some text", "x": {"y": True}}


def test_an_integer_that_is_no_float_is_refused() -> None:
    with pytest.raises(WeftError, match="settings: ratio must be of type float, not 1000"):
        with_settings(PrepareConfig(), ["ratio=1" + "0" * 400])


def test_a_setting_may_be_longer_than_the_name_of_a_file() -> None:
    long = "files=" + "x" * 5_000
    assert split_settings(["text.tsv", long]) == (["text.tsv"], [long])


def test_a_file_with_an_equals_sign_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a=b").touch()
    given = ["a=b", "run=mine", "Text=1.tsv", "dir/x=1.tsv", "training.updates=5"]
    assert split_settings(given) == (["a=b", "Text=1.tsv", "dir/x=1.tsv"], ["run=mine", "training.updates=5"])


def test_configs_survive_json() -> None:
    config = PrepareConfig(merges=5, ratio=2.5)
    assert from_dict(PrepareConfig, to_dict(config), "here") == config
