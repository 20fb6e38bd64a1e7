"""AER over something, from the reports of several runs, or over the checkpoints of one training of alignment layers.

    python benchmarks/report_curves.py 1250=runs/a 2500=runs/b 10000=runs/c --over "updates of translation" -o out.png
    python benchmarks/report_curves.py --checkpoints runs/a --source dev.src --target dev.tgt --gold dev.gold -o out.png

The first form reads report.json of each run. The second scores every checkpoint that is left of the stage align
(``alignment.training.average = 10`` keeps ten). Both print a JSON line for each score and draw a line for each system.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from weft.config import Method
from weft.model.rows import DIRECTIONS
from weft.model.system import AlignmentSystem
from weft.recipe import GoldConfig
from weft.train.report import MERGES, Gold, read_report, score_system
from weft.train.runlog import draw_curves


def scores_of_runs(runs: list[str]) -> list[dict[str, Any]]:
    scores = []
    for place, _, folder in (run.partition("=") for run in runs):
        report = read_report(Path(folder))
        if report is None:
            raise SystemExit(f"{folder}: no report.json; train with a table [gold]")
        for line in report["lines"]:
            del line["counts"]  # of single sentences
            scores.append({"place": float(place), **line})
    return scores


def scores_of_checkpoints(run: Path, gold: Gold, device: torch.device) -> list[dict[str, Any]]:
    system = AlignmentSystem.load(run / "model", device)
    methods: tuple[Method, ...] = ("forward-pass", "optimised", "bidirectional")
    scores = []
    for path in sorted((run / "align").glob("checkpoint-*.safetensors")):
        weights = load_file(path, str(device))
        for number, direction in enumerate(DIRECTIONS):
            prefix = f"model.{number}."
            own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
            system.models[direction].alignment.load_state_dict(own)
        for method in methods:
            for line in score_system(system, [gold], method, system.attend(method), MERGES[method]):
                scores.append({"place": float(path.stem.rpartition("-")[2]), **line.figures()})
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help="NUMBER=FOLDER")
    parser.add_argument("--checkpoints", type=Path)
    parser.add_argument("--source")
    parser.add_argument("--target")
    parser.add_argument("--gold")
    parser.add_argument("--gold-base", type=int, choices=(0, 1), default=1)
    parser.add_argument("--over", default="updates of the alignment layers")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()

    if arguments.checkpoints:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        gold = Gold.read(GoldConfig(arguments.source, arguments.target, arguments.gold, arguments.gold_base))
        scores = scores_of_checkpoints(arguments.checkpoints, gold, device)
    else:
        scores = scores_of_runs(arguments.runs)
    curves: dict[str, dict[float, float]] = defaultdict(dict)
    for line in scores:
        print(json.dumps(line))
        if line["merge"] not in ("forward", "backward"):
            curves[f"{line['system']}, {line['merge']}"][line["place"]] = line["aer"]
    if arguments.output:
        draw_curves(curves, arguments.output, arguments.over, "AER")


if __name__ == "__main__":
    main()
