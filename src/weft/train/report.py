"""How good every stage of a run is, against gold links that training has never seen; and the card of its aligner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import weft
from weft.align.windowed import WordPair
from weft.config import Merge, Method
from weft.config_io import to_dict
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError, remedy_for_bad_lines
from weft.links import GoldForm, LinkLine, Links, open_gold
from weft.model.packed_links import best_source_links
from weft.model.rows import Attend, PairRows
from weft.model.system import AlignmentSystem
from weft.model.torch_aligner import align
from weft.recipe import GoldConfig, Recipe
from weft.scoring import Score, Signature, score
from weft.storage import read_json, write_json, write_text
from weft.text.reading import Corpus
from weft.text.words import split_spaces
from weft.train.distributed import environment
from weft.train.stages import Parts

RESAMPLES, SEED = 1_000, 1  # of the intervals in reports
PLAIN_ATTENTION, TEACHERS, SCORER = "attention of layer", "teachers", "scorer"  # names of systems in reports, besides
SMALL_ALIGNER, FAST_ALIGNER = "small aligner", "small aligner, fast"  # those of a system's methods
_REPORT = "report.json"
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
    name: str = ""
    content: bool = False

    def signature(self, merge: str = "") -> Signature:
        """Return how scores are computed; ``merge`` if all of them are of links merged in one way."""
        return Signature(len(self.links), self.form, self.base, RESAMPLES, SEED, merge, self.content)

    @classmethod
    def read(cls, config: GoldConfig) -> Gold:
        """Read all three files and check that they fit together."""
        file = open_gold(config.links, config.base)
        links = list(file.lines)
        corpus = Corpus(source=(config.source,), target=(config.target,))
        with remedy_for_bad_lines("fix the line"):
            pairs = [
                (split_spaces(source), split_spaces(target))
                for block in corpus.blocks()
                for source, target in block.pairs()
            ]
        if len(links) != len(pairs):
            raise WeftError(f"{config.links} has {len(links):,} lines but {config.source} has {len(pairs):,}")
        for line, (source, target) in zip(links, pairs, strict=True):
            line.check(len(source), len(target))
        return cls(pairs, links, file.form, file.base, config.name or Path(config.links).stem, config.content)


def read_gold_sets(recipe: Recipe) -> list[Gold]:
    """Read all gold of a recipe. Raises WeftError if two sets have the same name."""
    sets = [Gold.read(config) for config in recipe.gold if config.links]
    for gold in sets:
        if sum(gold.name == other.name for other in sets) > 1:
            raise WeftError(f"two sets of gold are called {gold.name}; give each a name")
    return sets


@dataclass(frozen=True)
class ReportLine:
    """One system's score on one set of gold."""

    system: str
    merge: Merge
    score: Score
    gold: str = ""
    """Name of the set."""

    def figures(self) -> dict[str, object]:
        """Return them in percent."""
        one = self.score
        rounded = {name: round(100 * getattr(one, name), 2) for name in ("aer", "precision", "recall")}
        return {"system": self.system, "merge": self.merge, "gold": self.gold, **rounded, "links": one.links}


def _score_links(name: str, merge: Merge, links: Sequence[Links], gold: Sequence[Gold]) -> list[ReportLine]:
    """Score links of the sentences of all sets, one after the other."""
    lines = []
    rest = iter(links)
    for one in gold:
        own = list(islice(rest, len(one.links)))
        lines.append(ReportLine(name, merge, score(own, one.links, one.content), one.name))
    return lines


def score_system(
    system: AlignmentSystem,
    gold: Sequence[Gold],
    name: str,
    attend: Attend,
    merges: Sequence[Merge],
    threshold: float = 0.0,
) -> list[ReportLine]:
    """Align the gold sentences with one method and score each merge of its directions."""
    found = align(system, [pair for one in gold for pair in one.pairs], attend, merges, threshold)
    return [line for merge, links in found.items() for line in _score_links(name, merge, links, gold)]


def score_stages(system: AlignmentSystem, gold: Sequence[Gold], sample: PairRows) -> list[ReportLine]:
    """Score every method of a system; ``sample`` is training text, to choose the attention layer with."""
    layer = best_attention_layer(system, sample)
    attend = partial(system.plain_attention, layer=layer)
    lines = score_system(system, gold, f"{PLAIN_ATTENTION} {layer + 1}", attend, BOTH_WAYS)
    for method in system.methods:
        lines += score_system(system, gold, method, system.attend(method), MERGES[method], system.threshold)
    return lines


def score_aligner(folder: Path, gold: Sequence[Gold], fast: bool = False) -> list[ReportLine]:
    """Score a small aligner as users have it."""
    from weft.align.onnx_aligner import Aligner

    pairs = (pair for one in gold for pair in one.pairs)
    links = [alignment.links for alignment in Aligner(folder, fast=fast).align(pairs)]
    return _score_links(FAST_ALIGNER if fast else SMALL_ALIGNER, "mean", links, gold)


@torch.no_grad()
def best_attention_layer(system: AlignmentSystem, sample: PairRows) -> int:
    """Return the decoder layer in which both directions agree most about a text; no gold is needed to choose it."""

    def agreement(layer: int) -> float:
        attention = system.plain_attention(sample, layer)
        forward = best_source_links(attention.forward, sample.target, sample.source)
        backward = best_source_links(attention.backward.mT, sample.source, sample.target).mT
        return ((forward & backward).sum() / (forward | backward).sum()).item()

    return max(range(system.models["forward"].translation.config.decoder_layers), key=agreement)


def table(lines: Sequence[ReportLine], gold: Sequence[Gold]) -> str:
    """Return scores as a Markdown table; for several sets of gold, only the error rates, and their mean."""
    if len(gold) > 1:
        names = [one.name for one in gold]
        rows = [f"| system | merged by | mean | {' | '.join(names)} |", "|---|---|---|" + "---|" * len(names)]
        for (system, merge), rates in error_rates(lines).items():
            shown = " | ".join(f"{100 * rates[name]:.1f}" for name in names)
            rows.append(f"| {system} | {merge} | {100 * mean_error_rate(rates):.1f} | {shown} |")
        return "\n".join([*rows, "", *(f"{one.name}: `{one.signature()}`" for one in gold)])
    rows = ["| system | merged by | AER | 95 % | precision | recall | links |", "|---|---|---|---|---|---|---|"]
    for line in lines:
        one = line.score
        low, high = one.interval(RESAMPLES, SEED)
        rows.append(
            f"| {line.system} | {line.merge} | {100 * one.aer:.1f} | {100 * low:.1f}–{100 * high:.1f} "
            f"| {100 * one.precision:.1f} | {100 * one.recall:.1f} | {one.links:,} |"
        )
    return "\n".join([*rows, "", f"`{gold[0].signature()}`"])


def error_rates(lines: Sequence[ReportLine]) -> dict[tuple[str, Merge], dict[str, float]]:
    """Return the AER of each system and merge by the name of the gold."""
    rates: dict[tuple[str, Merge], dict[str, float]] = {}
    for line in lines:
        rates.setdefault((line.system, line.merge), {})[line.gold] = line.score.aer
    return rates


def mean_error_rate(rates: dict[str, float]) -> float:
    """Return the mean over sets of gold, each of the same weight."""
    return sum(rates.values()) / len(rates)


def write_report(recipe: Recipe, lines: Sequence[ReportLine], gold: Sequence[Gold], device: torch.device) -> str:
    """Write the scores into the folder of a run, as Markdown and as JSON. Returns the Markdown.

    The JSON also has the counts of each sentence, for intervals and paired tests, the times of all stages and the
    recipe.
    """
    folder = Path(recipe.run)
    shown = table(lines, gold)
    write_text(folder / "report.md", shown + "\n")
    report = {
        "recipe": to_dict(recipe),
        "environment": environment(device),
        "seconds": Parts(recipe).seconds(),
        "lines": [line.figures() | {"counts": line.score.counts.tolist()} for line in lines],
    }
    write_json(folder / _REPORT, report, indent=None)
    return shown


def read_report(folder: Path) -> dict[str, Any] | None:
    """Read what ``write_report`` wrote. Returns None if there is nothing; raises WeftError if it is damaged."""
    return read_results(folder / _REPORT, ("recipe", "environment", "seconds", "lines"))


def read_results(path: Path, needs: Sequence[str]) -> dict[str, Any] | None:
    """Read a JSON file of results that has some members. Returns None if there is none."""
    try:
        found = read_json(path)
    except FileNotFoundError:
        return None
    except WeftError as error:
        raise WeftError(f"{error}; remove it to make it again") from None
    if not isinstance(found, dict) or not set(needs) <= found.keys():
        raise WeftError(f"{path}: damaged; remove it to make it again")
    return found


def aligner_card(
    recipe: Recipe, corpus: PreparedCorpus, device: torch.device, scores: Sequence[ReportLine], gold: Sequence[Gold]
) -> str:
    """Return README.md of a model folder; its first paragraph is what lists of models show.

    ``scores`` are those of the aligner and of its fast encoders, if there is gold.
    """
    about, parts = recipe.card, Parts(recipe)
    sections = [f"# {about.languages or 'Small aligner'}", _summary(recipe, scores, gold)]
    order = (
        "whichever language is first"
        if recipe.scorer.shared
        else "`--reverse` if the text has the other language first"
    )
    sections.append(f"Use: `weft align --model FOLDER pairs.tsv`; {order}.")
    sections.append(
        f"**Data.** {about.data or 'Parallel text of the user.'} {len(corpus):,} sentence pairs were used; the "
        f"checksum of the prepared corpus begins with `{corpus.checksum[:16]}`."
    )
    if about.licence:
        sections.append(f"**Licence of the data.** {about.licence}")
    minutes = ", ".join(f"{kind} {seconds / 60:.1f}" for kind, seconds in parts.seconds().items())
    where = environment(device)["device"]
    name = f"the recipe {about.recipe}" if about.recipe else "settings that weft chose for this text"
    systems = f"{recipe.teachers} systems" if recipe.teachers > 1 else "one system"
    sections.append(
        f"**Training.** weft {weft.__version__}, {name}, seed {recipe.training.seed}; learned from {systems}. No "
        f"hand-aligned text, no other aligner. Minutes of training on {where}: {minutes}."
    )
    if scores:
        sections += _quality(scores, gold)
    sections.append(_gold_looked_at(recipe, gold))
    if about.limits:
        sections.append(f"**Limits.** {about.limits}")
    checksums = [f"| {part.name} | `{part.checksum}` |" for part in parts.all()]
    sections.append("\n".join(["| result of | SHA-256 begins with |", "|---|---|", *checksums]))
    return "\n\n".join(sections) + "\n"


def _quality(scores: Sequence[ReportLine], gold: Sequence[Gold]) -> list[str]:
    """Return the figures of an aligner and its fast encoders: sentences for one set of gold, a table for several."""
    if len(gold) == 1:
        names = ("**Quality.** ", "With `--fast`: ")
        quality = [f"{name}{_score(line)}" for name, line in zip(names, scores, strict=False)]
        return [*quality, f"`{gold[0].signature(scores[0].merge)}`"]
    rates = list(error_rates(scores).values())  # of the aligner and, if there is one, of the fast one
    rows = ["**Quality.** AER on each set of gold:", "", "| gold | sentences | AER | 95 % | with `--fast` |"]
    rows += ["|---|---|---|---|---|"]
    for one, line in zip(gold, scores, strict=False):
        low, high = line.score.interval(RESAMPLES, SEED)
        fast = " | ".join(f"{100 * rate[one.name]:.1f}" for rate in rates[1:])
        interval = f"{100 * low:.1f}–{100 * high:.1f}"
        rows.append(f"| {one.name} | {len(one.links):,} | {100 * line.score.aer:.1f} | {interval} | {fast} |")
    means = [f"{100 * mean_error_rate(rate):.1f}" for rate in rates]
    rows.append(f"| mean | | {means[0]} | | {' | '.join(means[1:])} |")
    signatures: dict[str, list[str]] = {}  # without the number of sentences: the sets that are scored so
    for one in gold:
        _, _, rest = str(one.signature(scores[0].merge)).partition("|")
        signatures.setdefault(rest, []).append(one.name)
    return ["\n".join(rows), "\n\n".join(f"{', '.join(names)}: `{rest}`" for rest, names in signatures.items())]


def _gold_looked_at(recipe: Recipe, gold: Sequence[Gold]) -> str:
    if not gold:
        looked = "This run looked at no gold links."
    else:
        looked = f"This run looked at the gold links of {_where(recipe, gold)} only to report the figures above."
    return " ".join(filter(None, [f"**Gold.** {looked}", recipe.card.choices]))


def _where(recipe: Recipe, gold: Sequence[Gold]) -> str:
    sets = f" in {len(gold)} sets" if len(gold) > 1 else ""
    return recipe.card.gold or f"{sum(len(one.links) for one in gold):,} sentences{sets}"


def _summary(recipe: Recipe, scores: Sequence[ReportLine], gold: Sequence[Gold]) -> str:
    languages = recipe.card.languages or "Sentence pairs"
    if not scores:
        return f"{languages}, word by word."
    rate = mean_error_rate(next(iter(error_rates(scores).values())))
    mean = "mean " if len(gold) > 1 else ""
    return f"{languages}, word by word: {mean}AER {100 * rate:.1f} on {_where(recipe, gold)}."


def _score(line: ReportLine) -> str:
    one = line.score
    low, high = one.interval(RESAMPLES, SEED)
    return (
        f"AER {100 * one.aer:.2f} (95 % interval {100 * low:.2f} to {100 * high:.2f}), precision "
        f"{100 * one.precision:.1f}, recall {100 * one.recall:.1f}, {one.links:,} links."
    )
