"""``weft plot``: loss curves as a picture; and curves of other figures, for reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError
from weft.train.runlog import read_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def find_metrics(runs: Sequence[Path]) -> dict[str, list[dict[str, float]]]:
    """The metrics of every run in the given folders, by the run's name."""
    found = {}
    for run in runs:
        paths = sorted(run.glob("**/metrics.jsonl"))
        if not paths:
            raise WeftError(f"{run}: no metrics.jsonl in it; give the folder of a run")
        for path in paths:
            found[str(path.parent)] = read_metrics(path)
    return found


def plot_losses(runs: Sequence[Path], output: Path) -> None:
    """Draw the training loss over updates, one line for each run."""
    metrics = {name: lines for name, lines in find_metrics(runs).items() if lines}
    if not metrics:
        raise WeftError(f"{runs[0]}: its metrics.jsonl is empty; train for some updates first")
    figure, axes = _axes("updates", "training loss per target token")
    for name, lines in metrics.items():
        updates = [line["update"] for line in lines]
        (drawn,) = axes.plot(updates, [line["loss"] for line in lines], label=f"{name}: label-smoothed")
        if "plain_loss" in lines[0]:
            plain = [line["plain_loss"] for line in lines]
            axes.plot(updates, plain, label=f"{name}: −log p", color=drawn.get_color(), linestyle=":")
    losses = sorted(line["loss"] for lines in metrics.values() for line in lines)
    axes.set_ylim(0, losses[int(0.98 * (len(losses) - 1))] * 1.05)  # the first steps would flatten the rest
    axes.legend(frameon=False, fontsize=8)
    _save(figure, output)


def draw_curves(curves: Mapping[str, Mapping[float, float]], output: Path, over: str, measure: str) -> None:
    """A line for each name, from 0 upwards, with a mark at each point."""
    figure, axes = _axes(over, measure)
    for name, points in curves.items():
        axes.plot(list(points), list(points.values()), marker=".", label=name)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, ncols=2)
    _save(figure, output)


def _axes(over: str, measure: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot(xlabel=over, ylabel=measure)
    axes.grid(alpha=0.3)
    return figure, axes


def _save(figure: Figure, output: Path) -> None:
    try:
        figure.savefig(output, dpi=150)
    except (OSError, ValueError) as error:
        raise WeftError(f"{output}: cannot be written: {error}") from None
