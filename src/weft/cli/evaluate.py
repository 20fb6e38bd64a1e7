"""``weft evaluate``: links against gold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import tyro

from weft.cli.options import Output
from weft.cli.output import open_output
from weft.errors import WeftError, printable
from weft.links import GoldFile, open_gold, read_links
from weft.text.reading import check_stdin, read_text, side_by_side
from weft.text.words import split_spaces

if TYPE_CHECKING:
    from weft.scoring import CountCollector, Score, WordErrors


def evaluate(
    gold: Annotated[str, tyro.conf.Positional],
    systems: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM …")],
    /,
    *,
    source: str | None = None,
    target: str | None = None,
    gold_base: Literal[0, 1] = 1,
    gold_format: Literal["auto", "links", "naacl"] = "auto",
    content_words: bool = False,
    errors: int = 0,
    resamples: int = 1_000,
    seed: int = 1,
    output: Output = None,
) -> None:
    """Score links against gold: AER, precision, recall, F1, with 95 % intervals and paired tests between systems.

    Args:
        gold: Gold links, `3-4` sure and `3p4` possible, or lines of `sentence source target S|P` (NAACL 2003).
        systems: Links to score, one file a system, counted from zero.
        source: The source sentences; with --target, links are checked against the sentences' lengths.
        target: The target sentences.
        gold_base: The number of the first word of a sentence in gold of the form links.
        gold_format: Form of the gold file; auto: told by its first line.
        content_words: Count a link only if both its words have gold links, for gold that links content words alone.
        errors: Show this many of the most frequent wrong and missed word pairs (needs --source and --target).
        resamples: Corpora drawn for intervals and tests.
        seed: Seed of the draws.
        output: Write into this file instead of stdout.
    """
    from weft.scoring import Signature, compare

    if not systems:
        raise WeftError("no file of links to score")
    for option, value, least in (("--errors", errors, 0), ("--resamples", resamples, 1), ("--seed", seed, 0)):
        if value < least:
            raise WeftError(f"{option} must be at least {least}, but is {value}")
    text = [name for name in (source, target) if name is not None]
    if len(text) == 1 or (errors and not text):
        raise WeftError("words are looked up in both sentences: give --source and --target")
    names = [gold, *systems, *text]
    check_stdin(names)
    opened = open_gold(gold, gold_base, gold_format)
    counts, found = _count(opened, names, len(systems), errors > 0, content_words)
    scores = [one.score() for one in counts]
    shown = [printable(name, keep="") for name in systems]
    with open_output(output, names) as (out, _):
        _print_table(shown, scores, resamples, seed, out)
        for name, other in zip(shown[1:], scores[1:], strict=True):
            difference = compare(scores[0], other, resamples, seed)
            p_value = f"p = {difference.p_text}".replace("= <", "<")
            print(
                f"{name} − {shown[0]}: {100 * difference.difference:+.2f} AER "
                f"[{100 * difference.low:+.2f}, {100 * difference.high:+.2f}], {p_value}",
                file=out,
            )
        if errors:
            for name, one in zip(shown, found, strict=True):
                _print_errors(name, one, errors, out)
        signature = Signature(counts[0].sentences, opened.form, opened.base, resamples, seed, content=content_words)
        print(signature, file=out)


def _count(
    gold: GoldFile, names: Sequence[str], systems: int, errors: bool, content: bool
) -> tuple[list[CountCollector], list[WordErrors]]:
    """Read gold, systems and text side by side. Returns the counts of each system, and its errors if wanted."""
    from weft.scoring import CountCollector, WordErrors, content_links, link_counts

    counts = [CountCollector() for _ in range(systems)]
    found = [WordErrors() for _ in range(systems)]
    any_gold = False
    readers: list[Iterator[Any]] = [
        gold.lines,
        *map(read_links, names[1 : systems + 1]),
        *(map(split_spaces, read_text(name)) for name in names[systems + 1 :]),
    ]
    for line, *rest in side_by_side(names, readers, "sentence pairs"):
        lines, words = rest[:systems], rest[systems:]
        if words:
            for one in (line, *lines):
                one.check(len(words[0]), len(words[1]))
        for one, collected, word_errors in zip(lines, counts, found, strict=True):
            links = content_links(one.possible, line) if content else one.possible
            collected.add(link_counts(links, line))
            if errors:
                word_errors.add(links, line, *words)
        any_gold |= bool(line.possible)
    if not any_gold:
        raise WeftError(f"{names[0]}: no gold links in it")
    return counts, found


def _print_table(names: Sequence[str], scores: Sequence[Score], resamples: int, seed: int, out: TextIO) -> None:
    width = max(6, *map(len, names))
    print(f"{'system':{width}}    AER   95 % interval  precision  recall     F1   links", file=out)
    for name, one in zip(names, scores, strict=True):
        low, high = one.interval(resamples, seed)
        print(
            f"{name:{width}}  {100 * one.aer:5.2f}  [{100 * low:5.2f}, {100 * high:5.2f}]"
            f"  {100 * one.precision:9.2f}  {100 * one.recall:6.2f}  {100 * one.f1:5.2f}  {one.links:6,}",
            file=out,
        )


def _print_errors(name: str, found: WordErrors, most: int, out: TextIO) -> None:
    for title, pairs in (("linked wrongly", found.wrong), ("missed", found.missed)):
        shown = ", ".join(f"{source}–{target} {count}" for (source, target), count in pairs.most_common(most))
        print(printable(f"{name}, most often {title}: {shown or 'nothing'}"), file=out)
