"""``weft prepare``: parallel text in, a folder of ids out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.config import PrepareConfig
from weft.errors import remedy_for_bad_lines
from weft.progress import say
from weft.text.reading import Corpus, Form


def prepare(
    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[FILE …]")] = (),
    /,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    source: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    target: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    input_format: Form = "auto",
    config: Annotated[PrepareConfig, tyro.conf.OmitArgPrefixes] = PrepareConfig(),  # noqa: B008
    force: bool = False,
) -> None:
    """Turn parallel text into a folder of memory-mapped ids that training opens at once.

    Args:
        files: TSV, `source ||| target`, .jsonl or .parquet; plain, .gz, .xz or .zst; - is stdin.
        output: Folder to make.
        source: Source sides of text in two files.
        target: Target sides, as many files as source sides.
        input_format: Columns or jsonl; auto: as the file's name says, and columns for stdin.
        config: Options, recorded in the folder.
        force: Overwrite the folder if it exists.
    """
    from weft.corpus.build import prepare, report

    with remedy_for_bad_lines("fix the line, or leave such lines out with --skip-bad"):
        say(report(prepare(Corpus(files, source, target, input_format), config, output, force)))
