"""``weft page``: write the page that aligns in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.cli.options import choice
from weft.progress import say


def page(
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")],
    model: Annotated[str | None, choice("NAME", "multi")] = None,
) -> None:
    """Write a page that aligns sentences in the browser.

    Put the folder on any web space, or open its index.html. The model is part of it: nothing is sent anywhere.

    Args:
        output: Folder for the page; a page that is there is replaced.
        model: A name that `weft models` lists, or the folder of a small aligner.
    """
    from weft.serve.page_files import write_page

    write_page(output, model)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    say(f"weft page: {output / 'index.html'} ({size / 1e6:.1f} MB with all that it loads)")
