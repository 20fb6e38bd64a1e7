"""``weft prepare`` as users run it, and what it says about bad lines."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from memory_files import tmx

from weft.cli.prepare import prepare
from weft.config import PrepareConfig, TextConfig
from weft.corpus.prepared import open_prepared
from weft.errors import WeftError
from weft.recipe import load_recipe


def test_the_remedy_for_a_bad_line_is_a_setting_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("a\tb\nbad\n", encoding="utf-8")
    with pytest.raises(WeftError, match=r"text\.tsv:2: .*leave such lines out with skip_bad=true$"):
        prepare((str(tmp_path / "text.tsv"), "merges=5"), output=tmp_path / "corpus")


def test_in_training_it_is_a_setting_of_the_recipe(tmp_path: Path) -> None:
    from weft.train.run import run_recipe

    (tmp_path / "text.tsv").write_text("a\tb\nbad\n", encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(f"files = ['{tmp_path / 'text.tsv'}']\nrun = '{tmp_path / 'run'}'\n")
    with pytest.raises(WeftError, match=r"text\.tsv:2: .*leave such lines out with prepare\.skip_bad=true$"):
        run_recipe(load_recipe(tmp_path / "recipe.toml", []))


def test_settings_stand_among_the_files(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text("a\tb\nbad\n", encoding="utf-8")
    prepare(("skip_bad=true", str(tmp_path / "text.tsv"), "text.lowercase=false", "merges=5"), output=tmp_path / "out")
    assert open_prepared(tmp_path / "out").config == PrepareConfig(TextConfig(lowercase=False), 5, skip_bad=True)
    with pytest.raises(WeftError, match="unknown setting 'merge'"):
        prepare((str(tmp_path / "text.tsv"), "merge=5"), output=tmp_path / "other")


def test_json_lines_on_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"source": "a b", "target": "c"}\n')))
    prepare(("-", "merges=5"), output=tmp_path / "out", input_format="jsonl")
    assert open_prepared(tmp_path / "out").manifest.counts["kept"] == 1


def test_half_a_surrogate_pair_is_a_bad_line(tmp_path: Path) -> None:
    text = tmp_path / "text.jsonl"
    text.write_text('{"source": "a", "target": "b"}\n{"source": "\\ud800", "target": "b"}\n', encoding="utf-8")
    with pytest.raises(WeftError, match=r"text\.jsonl:2: half a surrogate pair"):
        prepare((str(text), "merges=5"), output=tmp_path / "out")
    prepare((str(text), "merges=5", "skip_bad=true"), output=tmp_path / "out")
    assert open_prepared(tmp_path / "out").manifest.counts == {"read": 2, "bad": 1, "kept": 1}


def test_the_text_of_a_recipe_is_prepared_where_training_looks_for_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.tsv").write_text(f"{name}\tb\n" * 3, encoding="utf-8")
    tables = "".join(f"[[corpora]]\nfiles = ['{tmp_path / name}.tsv']\n" for name in ("one", "two"))
    (tmp_path / "recipe.toml").write_text(f"run = '{tmp_path / 'run'}'\nprepare.merges = 9\n{tables}")
    prepare((str(tmp_path / "recipe.toml"), "prepare.merges=5"))
    made = open_prepared(tmp_path / "run" / "corpus").manifest
    assert [record.pairs for record in made.corpora] == [3, 3] and made.options.merges == 5
    with pytest.raises(WeftError, match="name the folder to make with --output"):
        prepare((str(tmp_path / "one.tsv"),))


@pytest.mark.parametrize("more", [{"source": ("a",)}, {"target": ("b",)}, {"input_format": "jsonl"}, {}])
def test_a_recipe_takes_no_other_text(more: dict[str, Any]) -> None:
    with pytest.raises(WeftError, match="de-en: a recipe names its text; leave out other text"):
        prepare(("de-en",) if more else ("de-en", "text.tsv"), **more)


def test_two_languages_of_a_memory(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx([[("fr", "un arbre"), ("en-GB", "a tree"), ("de", "ein Baum")]] * 3))
    prepare((str(memory), 'languages=["de", "en"]', "merges=5"), output=tmp_path / "out")
    made = open_prepared(tmp_path / "out")
    assert made.manifest.counts["kept"] == 3 and "baum" in made.subwords.decode(made.source[0].tolist())
    with pytest.raises(WeftError, match="more than two languages"):
        prepare((str(memory), "merges=5"), output=tmp_path / "other")
