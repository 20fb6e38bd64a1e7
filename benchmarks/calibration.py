"""Do the probabilities of links mean what they say? And what does a threshold cost?

    python benchmarks/calibration.py multi --data data -o docs/calibration.png

Draws how many of the links of about some probability are right (in gold, sure or possible), a line for each gold set of
recipe multi (see benchmarks/languages.py), and the mean precision and recall of each kind of gold over the threshold
of ``weft align``. The language that no recipe has counts as XL-WA. Prints the figures as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from languages import gold_configs
from matplotlib.figure import Figure

import weft
from weft.scoring import content_links, score
from weft.train.report import Gold

THRESHOLDS = np.arange(0.1, 1.0, 0.1).round(1)
BINS = np.linspace(0, 1, 11)
COLOURS = {"XL-WA": "tab:blue", "PUD": "tab:orange", "RWTH": "tab:green", "NAACL": "tab:red"}


def kind(gold: Gold) -> str:
    """Return where gold comes from."""
    return next((name for name in COLOURS if f"({name})" in gold.name), "XL-WA")


def right_shares(model: str, gold: Gold) -> tuple[list[float], list[float]]:
    """Return the mean probability of the links of each tenth, and the share of them that is right."""
    links = []
    for alignment, line in zip(weft.load(model, threshold=BINS[1]).align(gold.pairs), gold.links, strict=True):
        counted = content_links(alignment.links, line) if gold.content else alignment.links
        links += [(alignment.probabilities[link], link in line.possible) for link in counted]
    probabilities, right = np.array(links).T
    tenth = np.clip(np.digitize(probabilities, BINS) - 1, 0, 9)
    said, found = (
        [float(values[tenth == number].mean()) for number in range(1, 10)] for values in (probabilities, right)
    )
    return said, found


def quality(model: str, gold: Gold, threshold: float) -> tuple[float, float]:
    """Return precision and recall."""
    found = [one.links for one in weft.load(model, threshold=threshold).align(gold.pairs)]
    scored = score(found, gold.links, gold.content)
    return scored.precision, scored.recall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    reliability, trade = figure.subplots(1, 2)
    reliability.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    print("| | " + " | ".join(f"{low:.1f}–{low + 0.1:.1f}" for low in BINS[1:-1]) + " |")
    print("|---" * 10 + "|")
    sets = [Gold.read(config) for config in gold_configs(options.data)]
    for gold in sets:
        said, found = right_shares(options.model, gold)
        print(f"| {gold.name} | " + " | ".join(f"{100 * share:.0f}" for share in found) + " |")
        reliability.plot(said, found, color=COLOURS[kind(gold)], linewidth=1)
    for name, colour in COLOURS.items():
        of_kind = [gold for gold in sets if kind(gold) == name]
        scores = np.array([[quality(options.model, gold, threshold) for gold in of_kind] for threshold in THRESHOLDS])
        precision, recall = scores.mean(1).T
        trade.plot(THRESHOLDS, precision, color=colour, label=f"{name}, precision")
        trade.plot(THRESHOLDS, recall, color=colour, linestyle="--", label="recall")
        reliability.plot([], [], color=colour, label=name)
        print(f"{name}, precision and recall by threshold: ", end="")
        print(
            ", ".join(
                f"{t}: {100 * p:.1f} {100 * r:.1f}" for t, p, r in zip(THRESHOLDS, precision, recall, strict=True)
            )
        )
    reliability.set(xlabel="probability of a link", ylabel="share of links that are right", xlim=(0, 1), ylim=(0, 1))
    trade.set(xlabel="threshold", xlim=(0.1, 0.9))
    for axes in (reliability, trade):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(options.output, dpi=120)


if __name__ == "__main__":
    main()
