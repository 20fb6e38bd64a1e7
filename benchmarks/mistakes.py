"""What goes wrong: the mistakes of an aligner by kind, in every language with gold.

    python benchmarks/mistakes.py multi --data data

Prints a Markdown table with a line for each gold set of recipe multi (see benchmarks/languages.py): the number of
mistakes, missed and wrong links together, and the share of each kind in percent; then the same of XL-WA and of PUD.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from languages import gold_configs, is_xlwa

import weft
from weft.links import LinkLine, Links
from weft.scoring import content_links
from weft.train.report import Gold

PART, LONE, WRONG, NONE = KINDS = (
    "missed, but one of its words has a right link",
    "wrong, as one of its words has no link in gold",
    "wrong, or missed for a wrong one",
    "missed, and neither of its words has a link",
)


def words(links: Links) -> tuple[set[int], set[int]]:
    """Return the source and the target words that have links."""
    return {source for source, _ in links}, {target for _, target in links}


def mistakes(links: Links, gold: LinkLine) -> Iterator[str]:
    """Yield the kind of each missed and of each wrong link of a sentence pair."""
    right, found, known = words(links & gold.possible), words(links), words(gold.possible)
    for source, target in gold.sure - links:
        if source in right[0] or target in right[1]:
            yield PART
        else:
            yield WRONG if source in found[0] or target in found[1] else NONE
    for source, target in links - gold.possible:
        yield WRONG if source in known[0] and target in known[1] else LONE


def main() -> None:
    """Count the mistakes in every gold set and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=Path("data"))
    options = parser.parse_args()
    aligner, sums = weft.load(options.model), {"XL-WA": Counter[str](), "PUD": Counter[str]()}
    print(f"| gold | mistakes | {' | '.join(KINDS)} |\n|---|---{'|---' * len(KINDS)}|")
    for config in gold_configs(options.data):
        gold, counts = Gold.read(config), Counter[str]()
        for alignment, line in zip(aligner.align(gold.pairs), gold.links, strict=True):
            links = content_links(alignment.links, line) if gold.content else alignment.links
            counts.update(mistakes(links, line))
        print(row(gold.name, counts))
        if config.content or is_xlwa(config):
            sums["PUD" if config.content else "XL-WA"] += counts
    for name, counts in sums.items():
        print(row(name, counts))


def row(name: str, counts: Counter[str]) -> str:
    shares = " | ".join(f"{100 * counts[kind] / max(1, counts.total()):.0f}" for kind in KINDS)
    return f"| {name} | {counts.total():,} | {shares} |"


if __name__ == "__main__":
    main()
