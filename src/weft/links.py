"""Word links in files: Pharaoh (``0-0 1-2``), gold with sure and possible links (``1-1 2p3``), and NAACL 2003's format.

Links are pairs (source word, target word), counted from zero; files may count from one. Sentences without links are
empty lines, so a file has one line for each sentence pair. NAACL's format has one link a line instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from weft.errors import WeftError
from weft.text.reading import open_lines

Links = frozenset[tuple[int, int]]

_LINK = re.compile(r"(\d+)([-p])(\d+)")
_NAACL = re.compile(r"\s*0*(\d+)\s+(\d+)\s+(\d+)(?:\s+([SP]))?(?:\s+[\d.]+)?\s*")


@dataclass(frozen=True)
class LinkLine:
    """The links of one sentence pair, and where in a file they stand."""

    where: str
    sure: Links
    possible: Links
    """All links that are not wrong, the sure ones among them."""

    def check(self, source_length: int, target_length: int) -> None:
        """Raise an error if a link leads out of the sentences."""
        for source, target in sorted(self.sure | self.possible):
            if source >= source_length or target >= target_length:
                raise WeftError(
                    f"{self.where}: link {source}-{target} (counted from zero) leads out of sentences of "
                    f"{source_length} and {target_length} words; is the file of other text or does it count from one?"
                )


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Links in Pharaoh format, in order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_links(name: str, base: int = 0) -> list[LinkLine]:
    """A file of links, one sentence pair a line; possible links (``2p3``) are kept apart from sure ones."""
    return [_parse_line(line, f"{shown}:{number}", base) for shown, number, line in _text_lines(name)]


def read_gold(name: str, base: int = 1, form: Literal["auto", "links", "naacl"] = "auto") -> list[LinkLine]:
    """A file of gold links; ``auto`` tells the two forms apart by the first line that has links."""
    lines = list(_text_lines(name))
    if form == "auto":
        first = next((line for _, _, line in lines if line.strip()), "")
        form = "naacl" if _NAACL.fullmatch(first) else "links"
    if form == "links":
        return [_parse_line(line, f"{shown}:{number}", base) for shown, number, line in lines]
    return _parse_naacl(lines)


def _text_lines(name: str) -> Iterator[tuple[str, int, str]]:
    shown = "stdin" if name == "-" else name
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield shown, number, line.decode("ascii")
            except UnicodeDecodeError:
                raise WeftError(f"{shown}:{number}: not a line of links (it has letters beyond ASCII)") from None


def _parse_line(line: str, where: str, base: int) -> LinkLine:
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for token in line.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise WeftError(f"{where}: '{token}' is not a link such as 3-4 or 3p4")
        source, target = int(match[1]) - base, int(match[3]) - base
        if source < 0 or target < 0:
            raise WeftError(f"{where}: link {token} cannot be in a file that counts from one; does it count from zero?")
        (sure if match[2] == "-" else possible).add((source, target))
    return LinkLine(where, frozenset(sure), frozenset(sure | possible))


def _parse_naacl(lines: list[tuple[str, int, str]]) -> list[LinkLine]:
    """Lines of ``sentence source target [S|P]``, counted from one; word 0 is the null word, which links nothing."""
    sure: dict[int, set[tuple[int, int]]] = {}
    possible: dict[int, set[tuple[int, int]]] = {}
    where: dict[int, str] = {}
    for shown, number, line in lines:
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        if match is None or int(match[1]) == 0:
            raise WeftError(f"{shown}:{number}: not of the form 'sentence source target S|P', sentences from 1 on")
        sentence = int(match[1])
        where.setdefault(sentence, f"{shown}:{number}")
        if 0 in (int(match[2]), int(match[3])):
            continue
        link = int(match[2]) - 1, int(match[3]) - 1
        possible.setdefault(sentence, set()).add(link)
        if match[4] != "P":
            sure.setdefault(sentence, set()).add(link)
    return [
        LinkLine(
            where.get(sentence, f"sentence {sentence}"),
            frozenset(sure.get(sentence, ())),
            frozenset(possible.get(sentence, ())),
        )
        for sentence in range(1, max(where, default=0) + 1)
    ]
