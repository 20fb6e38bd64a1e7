"""``weft prepare``: parallel text in, a folder of ids out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.config import CorpusConfig, PrepareConfig
from weft.config_io import split_settings, with_settings
from weft.errors import WeftError, remedy_for_bad_lines
from weft.progress import say
from weft.recipe import find_recipe, load_recipe
from weft.text.reading import Form


def prepare(
    what: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[FILE … | RECIPE] [SETTING=VALUE …]")
    ] = (),
    /,
    *,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None,
    source: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    target: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    input_format: Form = "auto",
    force: bool = False,
) -> None:
    """Turn parallel text into a folder of memory-mapped ids that training opens at once.

    Args:
        what: TSV, `source ||| target`, .jsonl, .parquet, or a memory (.tmx, .xlf, .po, an OPUS .zip); plain, .gz, .xz
            or .zst; - is stdin. Then settings, such as merges=16000 longest=100 hold_out=2000 skip_bad=true
            text.sharp_s=true (docs/text.md lists them).
            Or a recipe, such as multi, and settings of it: then the text is that of the recipe.
        output: Folder to make; for a recipe, the one in which weft train looks for it unless this says otherwise.
        source: Source sides of text in two files.
        target: Target sides, as many files as source sides.
        input_format: Columns or jsonl; auto: as the file's name says, and columns for stdin.
        force: Overwrite the folder if it exists.
    """
    from weft.corpus.build import prepare
    from weft.corpus.prepared import report

    files, settings = split_settings(what)
    if files and (path := find_recipe(files[0])).suffix == ".toml":
        if len(files) > 1 or source or target or input_format != "auto":
            raise WeftError(f"{files[0]}: a recipe names its text; leave out other text, or the recipe")
        recipe = load_recipe(path, settings)
        with remedy_for_bad_lines("fix the line, or leave such lines out with prepare.skip_bad=true"):
            say(report(prepare(recipe.texts, recipe.prepare, output or Path(recipe.run) / "corpus", force)))
        return
    if output is None:
        raise WeftError("name the folder to make with --output")
    of_corpus = [one for one in settings if one.startswith(("languages=", "contract_french="))]
    text = CorpusConfig(files=tuple(files), source=source, target=target, form=input_format)
    config = with_settings(PrepareConfig(), [one for one in settings if one not in of_corpus])
    with remedy_for_bad_lines("fix the line, or leave such lines out with skip_bad=true"):
        say(report(prepare([with_settings(text, of_corpus)], config, output, force)))
