"""``weft plot``: the loss curves of runs as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def plot(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    others: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[RUN …]", help_behavior_hint="")
    ] = (),
    /,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = Path("loss.png"),
) -> None:
    """Draw the loss curves of runs into one picture.

    Args:
        run: A folder with a metrics.jsonl, or a folder of such folders.
        others: More of them.
        output: The picture; its ending says which format (.png, .svg, .pdf).
    """
    from weft.train.runlog import plot_losses

    plot_losses((run, *others), output)
