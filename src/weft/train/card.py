"""The card of a small aligner: what it is, what it was made from, how good it is, where it fails."""

from __future__ import annotations

from weft.config import Recipe
from weft.evaluate import signature
from weft.text.prepared import PreparedCorpus
from weft.train.report import RESAMPLES, SEED, Gold, ReportLine, stage_seconds


def aligner_card(recipe: Recipe, corpus: PreparedCorpus, device: str, score: tuple[ReportLine, Gold] | None) -> str:
    """README.md of a model folder; its first paragraph is what lists of models show."""
    about = recipe.card
    parts = [f"# {about.languages or 'Small aligner'}", _summary(recipe, score)]
    parts.append("Use: `weft align --model FOLDER pairs.tsv`; `--reverse` if the text has the other language first.")
    parts.append(f"**Data.** {about.data or 'Parallel text of the user.'} {len(corpus):,} sentence pairs were used.")
    if about.licence:
        parts.append(f"**Licence of the data.** {about.licence}")
    minutes = ", ".join(f"{stage} {seconds / 60:.1f}" for stage, seconds in stage_seconds(recipe).items())
    parts.append(f"**Training.** No hand-aligned text, no other aligner. Minutes of training on {device}: {minutes}.")
    if score is not None:
        parts.append(_scores(*score))
    if about.limits:
        parts.append(f"**Limits.** {about.limits}")
    return "\n\n".join(parts) + "\n"


def _summary(recipe: Recipe, score: tuple[ReportLine, Gold] | None) -> str:
    languages = recipe.card.languages or "Sentence pairs"
    if score is None:
        return f"{languages}, word by word."
    line, gold = score
    where = recipe.card.gold or f"{len(gold.links)} sentences"
    return f"{languages}, word by word: AER {100 * line.score.aer:.1f} on {where}."


def _scores(line: ReportLine, gold: Gold) -> str:
    one = line.score
    low, high = one.interval(RESAMPLES, SEED)
    return (
        f"**Quality.** AER {100 * one.aer:.2f} (95 % interval {100 * low:.2f} to {100 * high:.2f}), precision "
        f"{100 * one.precision:.1f}, recall {100 * one.recall:.1f}, {one.links:,} links.\n\n"
        f"`{signature(len(gold.links), gold.base, RESAMPLES, SEED)}`"
    )
