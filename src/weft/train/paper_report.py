"""``weft experiments``: the paper's tables and its figure with our figures beside the paper's, as a Markdown report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.align.symmetrisation import symmetrise
from weft.config import Merge, Symmetrisation
from weft.config_io import read_toml
from weft.errors import WeftError
from weft.links import read_links
from weft.progress import say
from weft.recipe import find_recipe
from weft.scoring import Score, compare, score
from weft.storage import write_text
from weft.train.paper_experiments import (
    BEST,
    KERNELS,
    MOST_STEPS,
    PAPER,
    WEIGHTS_IN_ONE_DIRECTION,
    WEIGHTS_IN_TWO,
    ZENKEL,
    OtherAligner,
    PairResults,
    load_experiments,
    run_pair,
)
from weft.train.report import FAST_ALIGNER, PLAIN_ATTENTION, RESAMPLES, SEED, SMALL_ALIGNER
from weft.train.runlog import draw_curves
from weft.train.stages import KINDS

_MERGED_OF_OTHERS: tuple[Symmetrisation, ...] = (
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "lilt-grow-diag",
    "lilt-grow-diag-final",
)


def run_experiments(path: Path, settings: Sequence[str]) -> None:
    """Run all experiments of a file and write the report."""
    config = load_experiments(path, settings)
    figures = read_toml(find_recipe(config.figures))
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    parts = [_INTRODUCTION, *([config.note] if config.note else [])]
    for pair in config.pairs:
        results = run_pair(pair)
        picture = output / f"{pair.name}-steps.png"
        draw_curves(_step_curves(results), picture, "steps of gradient descent", "AER")
        parts.append(pair_report(results, figures, picture.name))
    write_text(output / "README.md", "\n\n".join(parts) + "\n")
    say(f"{output / 'README.md'}: the report")


_INTRODUCTION = """# The paper's experiments, made again

Written by `weft experiments`. AER (precision/recall), in percent; the paper's figures stand in square brackets.
"Merged" is grow-diag in Lilt's meaning, which is the paper's, or both directions at once where the method does that;
for other aligners it is the best of grow-diag and grow-diag-final, in Moses' meaning and in Lilt's, and of
grow-diag-final-and. Intervals are 95 % of a bootstrap over sentences."""


def pair_report(results: PairResults, figures: dict[str, Any], picture: str) -> str:
    """Return all sections for one language pair."""
    name, known = results.config.name, figures.get(results.config.name, {})
    systems = _systems(results)
    parts = [
        f"## {name}",
        _all_systems(results, systems, figures["systems"]),
        f"`{results.gold.signature()}`",
        _contiguity(results, known),
        _kernels(results, known),
        _merging(results, known),
        f"### Steps of gradient descent\n\n![AER over steps]({picture})\n\n{_steps(results, known)}",
        _claims(results),
        _comparisons(results, systems),
        _times(results),
    ]
    return "\n\n".join(part for part in parts if part)


# What is known of each system: the scores of its directions and of both merged.
Systems = dict[str, list[Score | None]]
_OPTIMISED, _GUIDED, _ZENKEL = "attention optimisation, bidirectional", "guided", "Zenkel et al. (2019)"
_OURS_GUIDED, _OURS_SMALL = "ours: guided, mean of both", "ours: small aligner, eight bits"
_PAPERS_NAME = {_OPTIMISED: "attention-optimisation", _GUIDED: "guided", _ZENKEL: "zenkel-2019"}


class _Scores:
    """The scores that a run has reported. Raises WeftError if one is missing."""

    def __init__(self, report: dict[str, Any]) -> None:
        self._run = report["recipe"]["run"]
        self._scores = {
            (line["system"], line["merge"]): Score(np.array(line["counts"], np.int64)) for line in report["lines"]
        }
        self.systems = [system for system, _ in self._scores]

    def __getitem__(self, key: tuple[str, Merge]) -> Score:
        if key not in self._scores:
            system, merge = key
            raise WeftError(f"{self._run}: its report has no score of '{system}' by '{merge}'; run its recipe again")
        return self._scores[key]

    def row(self, system: str, merge: Merge = "lilt-grow-diag") -> list[Score | None]:
        return [self[system, direction] for direction in ("forward", "backward", merge)]


def _systems(results: PairResults) -> Systems:
    """Return the rows of the paper's largest table, ours and those of other aligners."""
    reports = {name: _Scores(report) for name, report in results.reports.items()}
    paper, zenkel = reports[PAPER], reports[ZENKEL]
    layer = next(system for system in paper.systems if system.startswith(PLAIN_ATTENTION))
    systems: Systems = {
        f"plain {layer}": paper.row(layer),
        "forward pass": paper.row("forward-pass"),
        "attention optimisation, merged by grow-diag": paper.row("optimised"),
        _OPTIMISED: [*paper.row("optimised")[:2], paper["bidirectional", "best-cells"]],
        _GUIDED: paper.row("guided"),
        "guided, merged by Moses' grow-diag": [None, None, paper["guided", "grow-diag"]],
        "guided, mean of both": [None, None, paper["guided", "mean"]],
        _ZENKEL: zenkel.row("optimised"),
    }
    if BEST in reports:
        best = reports[BEST]
        systems["ours: bidirectional"] = [None, None, best["bidirectional", "best-cells"]]
        systems[_OURS_GUIDED] = best.row("guided", "mean")
        systems[_OURS_SMALL] = [None, None, best[SMALL_ALIGNER, "mean"]]
        if results.reports[BEST]["recipe"]["scorer"]["fast"]["layers"]:
            systems["ours: small aligner, fast"] = [None, None, best[FAST_ALIGNER, "mean"]]
    for other in results.config.others:
        systems[other.name] = list(_other_scores(other, results))
    return systems


def _other_scores(other: OtherAligner, results: PairResults) -> list[Score]:
    """Score both directions and their best symmetrisation."""
    ways = [[line.sure for line in read_links(name)] for name in (other.forward, other.backward)]
    for name, links in zip((other.forward, other.backward), ways, strict=True):
        if len(links) != len(results.gold.links):
            raise WeftError(
                f"{name} has {len(links):,} lines, but there are {len(results.gold.links):,} gold sentences"
            )
    merged = []
    for merge in _MERGED_OF_OTHERS:
        links = [symmetrise(forward, backward, merge) for forward, backward in zip(*ways, strict=True)]
        merged.append(score(links, results.gold.links))
    return [*(score(links, results.gold.links) for links in ways), min(merged, key=lambda one: one.aer)]


def _all_systems(results: PairResults, systems: Systems, papers: dict[str, dict[str, list[str]]]) -> str:
    names = _PAPERS_NAME | {other.name: other.paper for other in results.config.others}
    rows = []
    for name, scores in systems.items():
        known = papers.get(names.get(name, ""), {}).get(results.config.name, ["", "", ""])
        cells = [_beside(_shown(one), paper) for one, paper in zip(scores, known, strict=True)]
        merged = scores[-1]
        low, high = merged.interval(RESAMPLES, SEED) if merged else (0.0, 0.0)
        rows.append([name, *cells, f"{100 * low:.1f}–{100 * high:.1f}" if merged else ""])
    return "### All systems\n\n" + _table(["system [paper]", "forward", "backward", "merged", "interval, merged"], rows)


def _beside(ours: str, paper: object) -> str:
    """Return our figure and, if there is one, the paper's."""
    return f"{ours} [{paper}]" if paper else ours


def _shown(one: Score | None) -> str:
    return f"{100 * one.aer:.1f} ({100 * one.precision:.0f}/{100 * one.recall:.0f})" if one else ""


def _swept(
    results: PairResults, run: str, ways: str, steps: int, contiguity: float, kernel: int | None = None
) -> dict[str, float]:
    """Return the AER of one setting of a sweep by merge; ``ways`` is "one" or "both", ``kernel`` that of training."""
    kernel = kernel or results.reports[run]["recipe"]["alignment"]["kernel"]
    wanted = {"system": ways, "steps": steps, "contiguity": contiguity, "kernel": kernel}
    return {line["merge"]: line["aer"] for line in results.sweeps[run] if wanted.items() <= line.items()}


def _single_steps(results: PairResults) -> int:
    """Return the steps of gradient descent in one direction that the recipe has."""
    return results.reports[PAPER]["recipe"]["optimisation"]["steps"]


def _both(aer: dict[str, float]) -> str:
    return f"{aer['forward']:.1f} / {aer['backward']:.1f}"


def _contiguity(results: PairResults, known: dict[str, Any]) -> str:
    """Table 1 of the paper, with training and optimisation told apart; its second row is of layers trained with it."""
    papers = known.get("contiguity", {"forward-pass": ["", ""], "optimised": ["", ""]})
    without, with_it = papers["optimised"]
    rows = []
    for title, steps, weight, figures in (
        ("forward pass", 0, 0.0, papers["forward-pass"]),
        ("attention optimisation, λ = 0", _single_steps(results), 0.0, ["", without]),
        ("attention optimisation, λ = 1", _single_steps(results), 1.0, ["", with_it]),
    ):
        cells = [_both(_swept(results, run, "one", steps, weight)) for run in (ZENKEL, PAPER)]
        rows.append([title, *(_beside(cell, figure) for cell, figure in zip(cells, figures, strict=True))])
    head = ["forward / backward", "trained without contiguity loss", "trained with it"]
    return "### Contiguity loss\n\n" + _table(head, rows)


def _kernels(results: PairResults, known: dict[str, Any]) -> str:
    papers = known.get("kernels", [""] * len(KERNELS))
    cells = []
    for kernel, paper in zip(KERNELS, papers, strict=True):
        aer = _both(_swept(results, PAPER, "one", _single_steps(results), 1.0, kernel=kernel))
        cells.append(_beside(aer, paper))
    head = ["kernel in optimisation", *(f"{kernel}×{kernel}" for kernel in KERNELS)]
    return "### Size of the kernel\n\n" + _table(head, [["forward / backward", *cells]])


def _merging(results: PairResults, known: dict[str, Any]) -> str:
    """Table 2 of the paper."""
    single = _swept(results, PAPER, "one", _single_steps(results), 1.0)
    rows = [
        [name, _beside(f"{single[merge]:.1f}", known.get(key))]
        for name, merge, key in (
            ("grow-diag, Lilt", "lilt-grow-diag", "grow-diag"),
            ("grow-diag-final, Lilt", "lilt-grow-diag-final", "grow-diag-final"),
            ("grow-diag, Moses", "grow-diag", ""),
            ("grow-diag-final, Moses", "grow-diag-final", ""),
        )
    ]
    steps = results.reports[PAPER]["recipe"]["bidirectional"]["steps"]
    for weight in WEIGHTS_IN_TWO:
        found = _swept(results, PAPER, "both", steps, weight)["best-cells"]
        paper = known.get("bidirectional", {}).get(f"{weight:g}")
        rows.append([f"bidirectional, {steps} steps, λ = {weight:g}", _beside(f"{found:.1f}", paper)])
    return "### Merging two directions\n\n" + _table(["", "AER"], rows)


def _step_curves(results: PairResults) -> dict[str, dict[float, float]]:
    """Return the AER over steps; in one direction the mean of both."""
    curves: dict[str, dict[float, float]] = {}
    for weight in WEIGHTS_IN_ONE_DIRECTION:
        found = [_swept(results, PAPER, "one", n, weight) for n in range(MOST_STEPS + 1)]
        curves[f"one direction, λ = {weight:g}"] = {
            float(n): (aer["forward"] + aer["backward"]) / 2 for n, aer in enumerate(found)
        }
    for weight in WEIGHTS_IN_TWO:
        found = [_swept(results, PAPER, "both", n, weight) for n in range(MOST_STEPS + 1)]
        curves[f"both directions, λ = {weight:g}"] = {float(n): aer["best-cells"] for n, aer in enumerate(found)}
    return curves


def _steps(results: PairResults, known: dict[str, Any]) -> str:
    rows = [[name, *(f"{aer:.1f}" for aer in points.values())] for name, points in _step_curves(results).items()]
    rows += [[f"paper: {name}", *map(str, points)] for name, points in known.get("steps", {}).items()]
    return _table(["steps", *map(str, range(MOST_STEPS + 1))], rows)


def _claims(results: PairResults) -> str:
    """Compare the order of systems in the paper's tables with ours."""
    scores = _Scores(results.reports[PAPER])

    def aer(system: str, merge: Merge) -> float:
        return 100 * scores[system, merge].aer

    before, after = ([aer(system, "forward"), aer(system, "backward")] for system in ("forward-pass", "optimised"))
    plain = _swept(results, ZENKEL, "one", _single_steps(results), 0.0)
    merged = aer("optimised", "lilt-grow-diag")
    both = aer("bidirectional", "best-cells")
    single = min(aer("guided", "forward"), aer("guided", "backward"))
    claims = [
        ("attention optimisation beats the forward pass, forward / backward", before, after),
        ("contiguity loss helps attention optimisation", [plain["forward"], plain["backward"]], after),
        ("bidirectional optimisation beats grow-diag", [merged], [both]),
        ("guided, one direction, beats bidirectional optimisation", [both], [single]),
        ("guided, merged by Lilt's grow-diag, beats it", [both], [aer("guided", "lilt-grow-diag")]),
        ("guided, merged by Moses' grow-diag, beats it", [both], [aer("guided", "grow-diag")]),
    ]
    rows = []
    for claim, worse, better in claims:
        holds = all(second < first for first, second in zip(worse, better, strict=True))
        rows.append([claim, _numbers(worse), _numbers(better), "yes" if holds else "**no**"])
    shown = "### Does the paper's order hold?\n\n" + _table(["claim", "before", "after", "holds"], rows)
    return f"{shown}\n\n{results.config.remarks.strip()}".strip()


def _numbers(values: Iterable[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


def _comparisons(results: PairResults, systems: Systems) -> str:
    """Compare our systems with every other aligner by paired bootstrap."""
    rows = []
    for ours in (_GUIDED, *((_OURS_GUIDED, _OURS_SMALL) if BEST in results.reports else ())):
        for other in results.config.others:
            first, second = _best(systems[other.name]), _best(systems[ours])
            if first and second:
                found = compare(first, second, RESAMPLES, SEED)
                span = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
                rows.append(
                    [
                        ours,
                        other.name,
                        f"{100 * found.difference:+.1f}",
                        span,
                        found.p_text,
                    ]
                )
    if not rows:
        return ""
    head = ["system", "against", "AER", "95 %", "p"]
    return "### Paired tests\n\nBest of both directions and merged, on each side.\n\n" + _table(head, rows)


def _best(scores: Iterable[Score | None]) -> Score | None:
    return min((one for one in scores if one), key=lambda one: one.aer, default=None)


def _times(results: PairResults) -> str:
    """Return the time of training, and that of other aligners on the same text."""
    rows = []
    for name, report in results.reports.items():
        seconds = report["seconds"]
        cells = [f"{seconds[stage]:.0f}" if stage in seconds else "" for stage in KINDS]
        hours = sum(seconds.values()) / 3600
        rows.append([name, *cells, f"{hours:.2f}", report["environment"]["device"]])
    for other in results.config.others:
        if other.program:
            seconds, of_cpu = _program_seconds(other)
            hours = f"{of_cpu / 3600:.2f} of CPU"
            rows.append([f"{other.name}: {seconds:.0f} s in all", *[""] * len(KINDS), hours, "CPU"])
    note = "The systems of the paper share their translation models."
    return f"### Seconds of each stage\n\n{note}\n\n" + _table(["run", *KINDS, "hours", "device"], rows)


def _program_seconds(other: OtherAligner) -> tuple[float, float]:
    """Return the seconds that a benchmark has measured for another aligner, and those of all processors together."""
    path = Path(other.forward).with_name("scores.jsonl")
    try:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return next((one["seconds"], one["cpu_seconds"]) for one in lines if one["system"] == other.program)
    except (OSError, StopIteration):
        raise WeftError(f"{path}: has no time of {other.program}; take it from benchmarks/baselines.py") from None


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
