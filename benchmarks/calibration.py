"""Do the probabilities of links mean what they say? And what does a threshold cost?

    python benchmarks/calibration.py data/de-en data/en-fr data/ro-en -o docs/calibration.png

Each folder is named after a shipped model and holds dev.src, dev.tgt and dev.gold. Draws, for each model, how many of
the links of about some probability are right (in gold, sure or possible), and precision and recall over the threshold
of ``weft align``. Prints the figures as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import weft
from weft.recipe import GoldConfig
from weft.scoring import score
from weft.train.report import Gold

THRESHOLDS = np.arange(0.1, 1.0, 0.05).round(2)
BINS = np.linspace(0, 1, 11)


def right_shares(model: str, gold: Gold) -> tuple[list[float], list[float]]:
    """The mean probability of the links of each tenth, and the share of them that is right."""
    probabilities, right = [], []
    for alignment, line in zip(weft.load(model, threshold=0.1).align(gold.pairs), gold.links, strict=True):
        for link, probability in alignment.probabilities.items():
            probabilities.append(probability)
            right.append(link in line.possible)
    tenth = np.clip(np.digitize(probabilities, BINS) - 1, 0, 9)
    said, found = (
        [float(np.mean(np.array(values)[tenth == number])) for number in range(1, 10)]
        for values in (probabilities, right)
    )
    return said, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    reliability, trade = figure.subplots(1, 2)
    reliability.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    print("| | " + " | ".join(f"{low:.1f}–{low + 0.1:.1f}" for low in BINS[1:-1]) + " |")
    print("|---" * 10 + "|")
    for folder in arguments.folders:
        source, target, links = (str(folder / f"dev.{part}") for part in ("src", "tgt", "gold"))
        gold = Gold.read(GoldConfig(source, target, links))
        said, found = right_shares(folder.name, gold)
        print(f"| {folder.name} | " + " | ".join(f"{100 * share:.0f}" for share in found) + " |")
        line = reliability.plot(said, found, marker="o", label=folder.name)[0]
        scores = [
            score([one.links for one in weft.load(folder.name, threshold=threshold).align(gold.pairs)], gold.links)
            for threshold in THRESHOLDS
        ]
        color = line.get_color()
        trade.plot(THRESHOLDS, [one.precision for one in scores], color=color, label=f"{folder.name}, precision")
        trade.plot(THRESHOLDS, [one.recall for one in scores], color=color, linestyle="--", label="recall")
    reliability.set(xlabel="probability of a link", ylabel="share of links that are right", xlim=(0, 1), ylim=(0, 1))
    trade.set(xlabel="threshold", xlim=(0.1, 0.95))
    for axes in (reliability, trade):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(arguments.output, dpi=120)


if __name__ == "__main__":
    main()
