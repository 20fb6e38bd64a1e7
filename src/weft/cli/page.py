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
    """Write a page that aligns in the browser and sends nothing anywhere: `weft page -o page`, open page/index.html.

    Args:
        output: Folder for the page; a page that is there is replaced.
        model: A name that `weft models` lists, or the folder of a small aligner.
    """
    from weft.serve.page_files import write_page

    write_page(output, model)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    say(f"{output / 'index.html'}: open it in a browser ({size / 1e6:.1f} MB with all that it loads)")
