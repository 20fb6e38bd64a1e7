"""AER over the steps of attention optimisation, as in the paper's figure, for a trained aligner and gold links.

    python benchmarks/attention_steps.py run/model --source dev.src --target dev.tgt --gold dev.gold -o steps.png

Prints a JSON line for each setting: one direction and two, with and without contiguity loss, 0 to 10 steps. The picture
has a line for each; for one direction it shows the mean of forward and backward.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from weft.config import GoldConfig, OptimisationConfig
from weft.model.system import AlignmentSystem
from weft.train.report import BOTH_WAYS, Gold, ReportLine, score_system


def measure(
    system: AlignmentSystem, gold: Gold, steps: int, two_ways: bool, contiguity: float, step_size: float
) -> list[ReportLine]:
    """The scores of one setting: forward, backward and grow-diag, or those of both directions at once."""
    setting = OptimisationConfig(steps, step_size, contiguity, system.bidirectional.start)
    if two_ways:
        attend = partial(system.bidirectional_attention, optimisation=setting)
        return score_system(system, gold, "bidirectional", attend, ("best-cells",))
    attend = partial(system.layer_attention, optimisation=setting)
    return score_system(system, gold, "one direction", attend, BOTH_WAYS)


def draw(curves: Mapping[str, Mapping[float, float]], path: Path, over: str = "steps of gradient descent") -> None:
    """A line for each system: AER at some places."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for name, points in curves.items():
        axes.plot(list(points), list(points.values()), marker=".", label=name)
    axes.set_xlabel(over)
    axes.set_ylabel("AER")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--gold", required=True)
    parser.add_argument("--gold-base", type=int, choices=(0, 1), default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--contiguity", type=float, nargs="+", default=[0.0, 1.0, 2.0, 5.0], help="in two directions")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    system = AlignmentSystem.load(arguments.model, device)
    gold = Gold.read(GoldConfig(arguments.source, arguments.target, arguments.gold, arguments.gold_base))
    settings = [(False, contiguity, system.optimisation.step_size) for contiguity in (0.0, 1.0)]
    settings += [(True, contiguity, system.bidirectional.step_size) for contiguity in arguments.contiguity]
    curves: dict[str, dict[float, float]] = defaultdict(dict)
    for two_ways, contiguity, step_size in settings:
        name = f"{'both directions' if two_ways else 'one direction'}, λ = {contiguity:g}, step {step_size:g}"
        for steps in range(arguments.steps + 1):
            lines = measure(system, gold, steps, two_ways, contiguity, step_size)
            for line in lines:
                print(json.dumps({"contiguity": contiguity, "step_size": step_size, "steps": steps} | line.figures()))
            single = [100 * line.score.aer for line in lines if line.merge != "grow-diag"]
            curves[name][steps] = sum(single) / len(single)
    if arguments.output:
        draw(curves, arguments.output)


if __name__ == "__main__":
    main()
