"""How good every stage of a system is, against gold links that training has never seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from weft.config import Merge, Method
from weft.errors import WeftError
from weft.evaluate import Score, score, signature
from weft.model.aligner import align
from weft.model.extraction import best_source_links
from weft.model.system import AlignmentSystem, Attend
from weft.recipe import GoldConfig, Recipe
from weft.settings import to_dict
from weft.text.batches import PackedRows
from weft.text.corpus import Corpus
from weft.text.links import LinkLine, read_gold
from weft.text.pairs import WordPair
from weft.text.words import split_spaces
from weft.train.resident import ResidentRows
from weft.train.runlog import environment, read_metrics

RESAMPLES, SEED = 1_000, 1  # of the intervals in reports
_SAMPLE_ROWS = 64
BOTH_WAYS: tuple[Merge, ...] = ("forward", "backward", "grow-diag", "lilt-grow-diag")
MERGES: dict[Method, tuple[Merge, ...]] = {
    "forward-pass": BOTH_WAYS,
    "optimised": BOTH_WAYS,
    "bidirectional": ("best-cells",),
    "guided": (*BOTH_WAYS, "mean"),
}


@dataclass(frozen=True)
class Gold:
    """Sentence pairs and their gold links."""

    pairs: list[WordPair]
    links: list[LinkLine]
    base: int

    @classmethod
    def read(cls, config: GoldConfig) -> Gold:
        links = read_gold(config.links, config.base)
        corpus = Corpus(source=(config.source,), target=(config.target,))
        pairs = [
            (split_spaces(source), split_spaces(target))
            for block in corpus.blocks()
            for source, target in block.pairs(skip_bad=False, on_bad=lambda bad: None)
        ]
        if len(links) != len(pairs):
            raise WeftError(f"{config.links} has {len(links):,} lines but {config.source} has {len(pairs):,}")
        for line, (source, target) in zip(links, pairs, strict=True):
            line.check(len(source), len(target))
        return cls(pairs, links, config.base)


@dataclass(frozen=True)
class ReportLine:
    """One system's score."""

    system: str
    merge: Merge
    score: Score

    def figures(self) -> dict[str, object]:
        """In percent."""
        one = self.score
        rounded = {name: round(100 * getattr(one, name), 2) for name in ("aer", "precision", "recall")}
        return {"system": self.system, "merge": self.merge, **rounded, "links": one.links}


def score_system(
    system: AlignmentSystem,
    gold: Gold,
    name: str,
    attend: Attend,
    merges: Sequence[Merge],
    threshold: float = 0.0,
) -> list[ReportLine]:
    """Align the gold sentences with one method and score each way to merge its directions."""
    found = align(system, gold.pairs, attend, merges, threshold)
    return [ReportLine(name, merge, score(links, gold.links)) for merge, links in found.items()]


def score_stages(system: AlignmentSystem, gold: Gold, sample: PackedRows) -> list[ReportLine]:
    """Every stage of the road, in its order; ``sample`` is training text, to choose the attention layer with."""
    lines = score_attention(system, gold, best_attention_layer(system, sample))
    for method in system.methods:
        threshold = system.guided.threshold if system.guided is not None else 0.0
        lines += score_system(system, gold, method, system.attend(method), MERGES[method], threshold)
    return lines


def score_aligner(folder: Path, gold: Gold, fast: bool = False) -> ReportLine:
    """A small aligner as users have it."""
    from weft.align.aligner import Aligner

    links = [alignment.links for alignment in Aligner(folder, fast=fast).align(gold.pairs)]
    return ReportLine("small aligner, fast" if fast else "small aligner", "mean", score(links, gold.links))


def score_attention(system: AlignmentSystem, gold: Gold, layer: int) -> list[ReportLine]:
    """The translation models' own attention."""
    attend = partial(system.plain_attention, layer=layer)
    return score_system(system, gold, f"attention of layer {layer + 1}", attend, BOTH_WAYS)


@torch.no_grad()
def best_attention_layer(system: AlignmentSystem, sample: PackedRows) -> int:
    """The decoder layer in which both directions agree most about training text; no gold is needed to choose it."""
    rows = torch.arange(min(_SAMPLE_ROWS, len(sample)), device=system.device)
    pair = ResidentRows(sample, system.device).pair(rows)

    def agreement(layer: int) -> float:
        attention = system.plain_attention(pair, layer)
        forward = best_source_links(attention.forward, pair.target, pair.source)
        backward = best_source_links(attention.backward.mT, pair.source, pair.target).mT
        return ((forward & backward).sum() / (forward | backward).sum()).item()

    return max(range(system.ways["forward"].translation.config.decoder_layers), key=agreement)


def table(lines: Sequence[ReportLine], gold: Gold) -> str:
    """Scores as a Markdown table."""
    rows = ["| system | merged by | AER | 95 % | precision | recall | links |", "|---|---|---|---|---|---|---|"]
    for line in lines:
        one = line.score
        low, high = one.interval(RESAMPLES, SEED)
        rows.append(
            f"| {line.system} | {line.merge} | {100 * one.aer:.1f} | {100 * low:.1f}–{100 * high:.1f} "
            f"| {100 * one.precision:.1f} | {100 * one.recall:.1f} | {one.links:,} |"
        )
    return "\n".join([*rows, "", f"`{signature(len(gold.links), gold.base, RESAMPLES, SEED)}`"])


def stage_seconds(recipe: Recipe) -> dict[str, float]:
    """How long each stage took; whole models of the two directions train side by side."""
    run, translation = Path(recipe.run), Path(recipe.translation or recipe.run)
    rounds = range(1, recipe.guided.rounds + 1)
    folders = {
        "translate": [translation / way for way in recipe.directions],
        "align": [run / "align"],
        "guide": [run / f"guide-{number}" for number in rounds],
        "distil": [run / "distil", run / "fast"],
        "joint": [run / "joint" / way for way in recipe.directions],
    }
    logs = {stage: [read_metrics(folder / "metrics.jsonl") for folder in own] for stage, own in folders.items()}
    seconds = {stage: [log[-1]["seconds"] for log in own if log] for stage, own in logs.items()}
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in run.glob("links-*/manifest.json")]
    seconds["links"] = [manifest.get("seconds", 0.0) for manifest in manifests]
    side_by_side = {"translate", "joint"}
    return {stage: max(own) if stage in side_by_side else sum(own) for stage, own in seconds.items() if own}


def write_report(recipe: Recipe, lines: Sequence[ReportLine], gold: Gold, device: torch.device) -> str:
    """Leave the scores as Markdown and JSON in the folder of a run; the Markdown.

    The JSON also has the counts of each sentence, for intervals and paired tests, the times of all stages and the
    recipe.
    """
    folder = Path(recipe.run)
    shown = table(lines, gold)
    (folder / "report.md").write_text(shown + "\n", encoding="utf-8")
    head = {"recipe": to_dict(recipe), "environment": environment(device), "seconds": stage_seconds(recipe)}
    rows = ",\n".join(json.dumps(line.figures() | {"counts": line.score.counts.tolist()}) for line in lines)
    (folder / "report.json").write_text(f'{json.dumps(head)[:-1]}, "lines": [\n{rows}\n]}}\n', encoding="utf-8")
    return shown


def read_report(folder: Path) -> dict[str, Any] | None:
    """What ``write_report`` has left, if anything."""
    try:
        return json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
