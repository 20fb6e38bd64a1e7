"""``weft evaluate``: links against gold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import tyro

from weft.errors import WeftError
from weft.links import LinkLine, Links, read_gold, read_links
from weft.scoring import Score, compare, interval, resampled_error_rates, score, signature, word_errors
from weft.text.reading import read_text
from weft.text.words import split_spaces


def evaluate(
    gold: Annotated[str, tyro.conf.Positional],
    systems: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM …")],
    /,
    *,
    source: str | None = None,
    target: str | None = None,
    gold_base: Literal[0, 1] = 1,
    gold_format: Literal["auto", "links", "naacl"] = "auto",
    errors: int = 0,
    resamples: int = 1_000,
    seed: int = 1,
) -> None:
    """Score links against gold: AER, precision, recall, F1, with 95 % intervals and paired tests between systems.

    Args:
        gold: Gold links, `3-4` sure and `3p4` possible, or lines of `sentence source target S|P` (NAACL 2003).
        systems: Links to score, one file a system, counted from zero.
        source: The source sentences; with --target, links are checked against the sentences' lengths.
        target: The target sentences.
        gold_base: The number of the first word in the gold file.
        gold_format: Form of the gold file; auto: tell by its first line.
        errors: Show this many of the most frequent wrong and missed word pairs (needs --source and --target).
        resamples: Corpora drawn for intervals and tests.
        seed: Of the draws.
    """
    evaluate_files(gold, systems, source, target, gold_base, gold_format, errors, resamples, seed)


Words = list[tuple[list[str], list[str]]]


def evaluate_files(
    gold_file: str,
    systems: Sequence[str],
    source: str | None,
    target: str | None,
    gold_base: int,
    gold_format: Literal["auto", "links", "naacl"],
    errors: int,
    resamples: int,
    seed: int,
) -> None:
    """Print a table of scores, and how systems compare with the first one."""
    if not systems:
        raise WeftError("no file of links to score")
    gold = read_gold(gold_file, gold_base, gold_format)
    if not gold:
        raise WeftError(f"{gold_file}: no gold links in it")
    words = _read_words(source, target, errors)
    if words is not None:
        _check(gold, words, gold_file)
    scores: dict[str, Score] = {}
    links: dict[str, list[Links]] = {}
    for name in systems:
        lines = read_links(name)
        if len(lines) != len(gold):
            raise WeftError(f"{name} has {len(lines):,} lines but {gold_file} has {len(gold):,} sentences")
        if words is not None:
            _check(lines, words, name)
        links[name] = [line.possible for line in lines]
        scores[name] = score(links[name], gold)
    _print_table(scores, resamples, seed)
    first, *others = scores
    for other in others:
        difference = compare(scores[first], scores[other], resamples, seed)
        print(
            f"{other} − {first}: {100 * difference.difference:+.2f} AER "
            f"[{100 * difference.low:+.2f}, {100 * difference.high:+.2f}], p = {difference.p_value:.3f}"
        )
    if words is not None and errors:
        for name in systems:
            _print_errors(name, links[name], gold, words, errors)
    print(signature(len(gold), gold_base, resamples, seed))


def _read_words(source: str | None, target: str | None, errors: int) -> Words | None:
    if source is None or target is None:
        if errors or source or target:
            raise WeftError("words are looked up in both sentences: give --source and --target")
        return None
    sides = [[split_spaces(line) for line in read_text(name)] for name in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise WeftError(f"{source} has {len(sides[0]):,} lines but {target} has {len(sides[1]):,}")
    return list(zip(sides[0], sides[1], strict=True))


def _check(lines: Sequence[LinkLine], words: Words, name: str) -> None:
    if len(lines) != len(words):
        raise WeftError(f"{name} has links of {len(lines):,} sentence pairs, but the text has {len(words):,}")
    for line, (source, target) in zip(lines, words, strict=True):
        line.check(len(source), len(target))


def _print_table(scores: dict[str, Score], resamples: int, seed: int) -> None:
    width = max(6, *(len(name) for name in scores))
    print(f"{'system':{width}}    AER   95 % interval  precision  recall     F1   links")
    for name, one in scores.items():
        low, high = interval(resampled_error_rates(one.counts, resamples, seed))
        print(
            f"{name:{width}}  {100 * one.aer:5.2f}  [{100 * low:5.2f}, {100 * high:5.2f}]"
            f"  {100 * one.precision:9.2f}  {100 * one.recall:6.2f}  {100 * one.f1:5.2f}  {one.links:6,}"
        )


def _print_errors(name: str, links: list[Links], gold: list[LinkLine], words: Words, most: int) -> None:
    found = word_errors(links, gold, words, most)
    for title, pairs in (("linked wrongly", found.wrong), ("missed", found.missed)):
        shown = ", ".join(f"{source}–{target} {count}" for (source, target), count in pairs)
        print(f"{name}, most often {title}: {shown or 'nothing'}")
