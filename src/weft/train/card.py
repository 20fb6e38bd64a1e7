"""The card of a small aligner: what it is, what it was made from, how good it is, where it fails."""

from __future__ import annotations

from collections.abc import Sequence

from weft.evaluate import signature
from weft.recipe import Recipe
from weft.text.prepared import PreparedCorpus
from weft.train.report import RESAMPLES, SEED, Gold, ReportLine, stage_seconds


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
        parts += [*quality, f"`{signature(len(gold.links), gold.base, RESAMPLES, SEED)}`"]
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
