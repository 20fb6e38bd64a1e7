"""``weft plot``: the loss curves of runs as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def plot(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …")],
    /,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("loss.png"),
) -> None:
    """Draw the loss curves of runs into one picture.

    Args:
        runs: Folders with a metrics.jsonl, or folders of such folders.
        output: The picture; its ending says which format (.png, .svg, .pdf).
    """
    from weft.train.runlog import plot_losses

    plot_losses(runs, output)
