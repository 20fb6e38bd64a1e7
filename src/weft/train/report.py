"""How good every stage of a system is, against gold links that training has never seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from weft.align.windowed import WordPair
from weft.config import Merge, Method
from weft.config_io import to_dict
from weft.corpus.packing import PackedRows
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.links import GoldForm, LinkLine, open_gold
from weft.model.packed_links import best_source_links
from weft.model.rows import Attend
from weft.model.system import AlignmentSystem
from weft.model.torch_aligner import align
from weft.recipe import GoldConfig, Recipe
from weft.scoring import Score, Signature, score
from weft.text.reading import Corpus
from weft.text.words import split_spaces
from weft.train.distributed import environment
from weft.train.runlog import read_metrics
from weft.train.task import ResidentRows

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
    form: GoldForm
    base: int

    @property
    def signature(self) -> Signature:
        return Signature(len(self.links), self.form, self.base, RESAMPLES, SEED)

    @classmethod
    def read(cls, config: GoldConfig) -> Gold:
        file = open_gold(config.links, config.base)
        links = list(file.lines)
        corpus = Corpus(source=(config.source,), target=(config.target,))
        pairs = [
            (split_spaces(source), split_spaces(target))
            for block in corpus.blocks()
            for source, target in block.pairs()
        ]
        if len(links) != len(pairs):
            raise WeftError(f"{config.links} has {len(links):,} lines but {config.source} has {len(pairs):,}")
        for line, (source, target) in zip(links, pairs, strict=True):
            line.check(len(source), len(target))
        return cls(pairs, links, file.form, file.base)


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
    from weft.align.onnx_aligner import Aligner

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

    return max(range(system.models["forward"].translation.config.decoder_layers), key=agreement)


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
    return "\n".join([*rows, "", f"`{gold.signature}`"])


def stage_seconds(recipe: Recipe) -> dict[str, float]:
    """How long each stage took; whole models of the two directions train side by side."""
    run, translation = Path(recipe.run), Path(recipe.translation or recipe.run)
    rounds = range(1, recipe.guided.rounds + 1)
    folders = {
        "translate": [translation / way for way in recipe.directions],
        "align": [run / "align"],
        "guide": [run / f"guide-{number}" for number in rounds],
        "distil": [run / "distil", run / "fast"],
    }
    logs = {stage: [read_metrics(folder / "metrics.jsonl") for folder in own] for stage, own in folders.items()}
    seconds = {stage: [log[-1]["seconds"] for log in own if log] for stage, own in logs.items()}
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in run.glob("links-*/manifest.json")]
    seconds["links"] = [manifest.get("seconds", 0.0) for manifest in manifests]
    return {stage: max(own) if stage == "translate" else sum(own) for stage, own in seconds.items() if own}


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


def aligner_card(
    recipe: Recipe, corpus: PreparedCorpus, device: str, scores: Sequence[ReportLine], gold: Gold | None
) -> str:
    """README.md of a model folder; its first paragraph is what lists of models show.

    ``scores`` are those of the aligner and of its fast encoders, as far as there are any.
    """
    about = recipe.card
    parts = [f"# {about.languages or 'Small aligner'}", _summary(recipe, scores, gold)]
    parts.append("Use: `weft align --model FOLDER pairs.tsv`; `--reverse` if the text has the other language first.")
    parts.append(f"**Data.** {about.data or 'Parallel text of the user.'} {len(corpus):,} sentence pairs were used.")
    if about.licence:
        parts.append(f"**Licence of the data.** {about.licence}")
    minutes = ", ".join(f"{stage} {seconds / 60:.1f}" for stage, seconds in stage_seconds(recipe).items())
    parts.append(f"**Training.** No hand-aligned text, no other aligner. Minutes of training on {device}: {minutes}.")
    if scores and gold is not None:
        quality = [
            f"{'With `--fast`: ' if number else '**Quality.** '}{_score(line)}" for number, line in enumerate(scores)
        ]
        parts += [*quality, f"`{gold.signature}`"]
    if about.limits:
        parts.append(f"**Limits.** {about.limits}")
    return "\n\n".join(parts) + "\n"


def _summary(recipe: Recipe, scores: Sequence[ReportLine], gold: Gold | None) -> str:
    languages = recipe.card.languages or "Sentence pairs"
    if not scores or gold is None:
        return f"{languages}, word by word."
    where = recipe.card.gold or f"{len(gold.links)} sentences"
    return f"{languages}, word by word: AER {100 * scores[0].score.aer:.1f} on {where}."


def _score(line: ReportLine) -> str:
    one = line.score
    low, high = one.interval(RESAMPLES, SEED)
    return (
        f"AER {100 * one.aer:.2f} (95 % interval {100 * low:.2f} to {100 * high:.2f}), precision "
        f"{100 * one.precision:.1f}, recall {100 * one.recall:.1f}, {one.links:,} links."
    )
