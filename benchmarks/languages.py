"""The error rate of an aligner in every language with gold: the figures of docs/languages.md.

    python benchmarks/languages.py multi --data data --fast --eflomal eflomal.jsonl

MODEL is a name or a folder. ``--data`` has the gold sets that recipe multi names and, beside them, XL-WA's Slovenian
one, a language that no recipe has. Prints a Markdown table. ``--fast`` adds the AER of the fast encoders, ``--eflomal``
the lowest AER of another aligner from a file of lines such as

    {"lang": "ru", "xlwa forward": 18.67, "xlwa grow-diag": 17.65, "pud forward": 16.95, "pud grow-diag": 15.98}
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from weft.align.model_folder import find_model
from weft.recipe import GoldConfig, find_recipe, load_recipe
from weft.train.report import RESAMPLES, SEED, Gold, ReportLine, mean_error_rate, score_aligner

_UNSEEN = "sl"


def gold_configs(data: Path) -> list[GoldConfig]:
    """Return all gold of recipe multi in a folder, and the Slovenian set, whose files are named like the Bulgarian."""

    def moved(one: GoldConfig, language: str) -> GoldConfig:
        source, target, links = (
            str(data / Path(file).relative_to("data")).replace("-bg.", f"-{language}.")
            for file in (one.source, one.target, one.links)
        )
        return dataclasses.replace(one, source=source, target=target, links=links)

    sets = load_recipe(find_recipe("multi")).gold
    unseen = [dataclasses.replace(moved(one, _UNSEEN), name=_UNSEEN) for one in sets if one.name == "bg"]
    return [moved(one, "bg") for one in sets] + unseen


def is_xlwa(config: GoldConfig) -> bool:
    """Tell whether gold counts for the mean of XL-WA: the unseen language does not."""
    return "xlwa" in config.links and config.name != _UNSEEN


def best_figures(path: Path) -> dict[str, float]:
    """Return the lowest AER of another aligner on each gold set, in percent, by the names of recipe multi."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        figures = json.loads(line)
        for kind, name in ("xlwa", figures["lang"]), ("pud", f"{figures['lang']} (PUD)"):
            rates = [rate for merge, rate in figures.items() if merge.startswith(kind)]
            if rates:
                found[name] = min(rates)
    return found


def aer_by_gold(lines: list[ReportLine]) -> dict[str, float]:
    return {line.gold: 100 * line.score.aer for line in lines}


def main() -> None:
    """Score an aligner on every gold set and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--eflomal", type=Path)
    options = parser.parse_args()
    model, configs = find_model(options.model), gold_configs(options.data)
    gold = [Gold.read(config) for config in configs]
    lines = score_aligner(model, gold)
    others: dict[str, dict[str, float]] = {}
    if options.fast:
        others["`--fast`"] = aer_by_gold(score_aligner(model, gold, fast=True))
    if options.eflomal:
        others["eflomal"] = best_figures(options.eflomal)
    heads = ["gold", "sentences", "AER [95 %]", "precision", "recall", *others]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for one, line in zip(gold, lines, strict=True):
        low, high = line.score.interval(RESAMPLES, SEED)
        figures = [f"{100 * line.score.aer:.1f} [{100 * low:.1f}, {100 * high:.1f}]"]
        figures += [f"{100 * share:.1f}" for share in (line.score.precision, line.score.recall)]
        figures += [f"{rates[one.name]:.1f}" if one.name in rates else "–" for rates in others.values()]
        print(f"| {one.name} | {len(one.links)} | {' | '.join(figures)} |")
    xlwa = [one.name for one in configs if is_xlwa(one)]
    means = [mean_error_rate({name: rates[name] for name in xlwa}) for rates in (aer_by_gold(lines), *others.values())]
    own, *rest = (f"{mean:.1f}" for mean in means)
    print(f"| {' | '.join([f'mean of XL-WA, {len(xlwa)} languages', '', own, '', '', *rest])} |")


if __name__ == "__main__":
    main()
