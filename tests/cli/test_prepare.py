"""``weft prepare`` as users run it, and what it says about bad lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.prepare import prepare
from weft.config import PrepareConfig
from weft.errors import WeftError
from weft.recipe import load_recipe


def test_the_remedy_for_a_bad_line_is_an_option_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("a\tb\nbad\n", encoding="utf-8")
    with pytest.raises(WeftError, match=r"text\.tsv:2: .*leave such lines out with --skip-bad$"):
        prepare((str(tmp_path / "text.tsv"),), output=tmp_path / "corpus", config=PrepareConfig(merges=5))


def test_for_training_it_is_a_setting(tmp_path: Path) -> None:
    from weft.train.run import run_recipe

    (tmp_path / "text.tsv").write_text("a\tb\nbad\n", encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(f"files = ['{tmp_path / 'text.tsv'}']\nrun = '{tmp_path / 'run'}'\n")
    with pytest.raises(WeftError, match=r"text\.tsv:2: .*leave such lines out with prepare\.skip_bad=true$"):
        run_recipe(load_recipe(tmp_path / "recipe.toml", []))
