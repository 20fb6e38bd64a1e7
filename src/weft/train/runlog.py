"""``metrics.jsonl``, the log that each training leaves, and pictures of it. Nothing in here imports torch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.storage import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RunLog:
    """Appends to ``metrics.jsonl``. On resume, drops lines newer than the checkpoint."""

    def __init__(self, folder: Path, updates_so_far: int) -> None:
        self.path = folder / "metrics.jsonl"
        known = [line for line in read_metrics(self.path) if line["update"] <= updates_so_far]
        write_text(self.path, "".join(json.dumps(line) + "\n" for line in known))

    def write(self, **figures: Any) -> None:
        """Append a line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read all complete lines of a metrics file, if there is one; a line cut off by a kill is left out."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [line for line in found if isinstance(line, dict)]


def find_metrics(runs: Sequence[Path]) -> dict[str, list[dict[str, float]]]:
    """Return the metrics of every run in the given folders, by the run's name."""
    if not runs:
        raise WeftError("give the folder of a run, or several")
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
    """Draw a line for each name, from 0 upwards, with a mark at each point."""
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
