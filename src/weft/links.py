"""Word links in files: Pharaoh (``0-0 1-2``), gold with sure and possible links (``1-1 2p3``), and NAACL 2003's format.

Links are pairs (source word, target word), counted from zero; files may count from one. Sentences without links are
empty lines, so a file has one line for each sentence pair. NAACL's format has one link a line instead. Files are read
line by line, so they may be of any size; only NAACL's has to be in memory.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from weft.errors import WeftError
from weft.text.reading import decode_line, open_lines

Links = frozenset[tuple[int, int]]
GoldForm = Literal["links", "naacl"]

_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})")
_NAACL = re.compile(r"\s*0*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+[\d.]+)?\s*")
_HOLES = 10  # sentences without links for each that has some; more are a mistake, not a gold file


@dataclass(frozen=True)
class LinkLine:
    """The links of one sentence pair, and where in a file they stand."""

    where: str
    sure: Links
    possible: Links
    """All links that are not wrong, the sure ones among them."""

    def check(self, source_length: int, target_length: int) -> None:
        """Raise WeftError if a link leads out of the sentences."""
        for source, target in sorted(self.possible):
            if source >= source_length or target >= target_length:
                raise WeftError(
                    f"{self.where}: link {source}-{target} (counted from zero) leads out of sentences of "
                    f"{source_length} and {target_length} words; is the file of other text or does it count from one?"
                )


@dataclass(frozen=True)
class GoldFile:
    """A file of gold links that is being read."""

    form: GoldForm
    base: int
    """The number of the first word of a sentence in the file."""
    lines: Iterator[LinkLine]


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links in Pharaoh format, in order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_links(name: str, base: int = 0) -> Iterator[LinkLine]:
    """Yield the links of each line of a file; possible links (``2p3``) are kept apart from sure ones."""
    return (_parse_line(line, where, base) for where, line in _text_lines(name))


def parse_links(line: bytes, file: str, number: int) -> LinkLine:
    """Return the links of one line of a file."""
    return _parse_line(_text(line, file, number), f"{file}:{number}", base=0)


def open_gold(name: str, base: int = 1, form: Literal["auto"] | GoldForm = "auto") -> GoldFile:
    """Open a file of gold links; ``auto`` tells the two forms apart by the first line that has links."""
    lines = _text_lines(name)
    if form == "auto":
        begin = []
        for item in lines:
            begin.append(item)
            if item[1].strip():
                break
        form = "naacl" if begin and _NAACL.fullmatch(begin[-1][1]) else "links"
        lines = itertools.chain(begin, lines)
    if form == "naacl":
        return GoldFile(form, 1, _parse_naacl(name, lines))
    return GoldFile(form, base, (_parse_line(line, where, base) for where, line in lines))


def read_gold(name: str, base: int = 1, form: Literal["auto"] | GoldForm = "auto") -> list[LinkLine]:
    """Read a file of gold links into memory, as `open_gold` does."""
    return list(open_gold(name, base, form).lines)


def _text_lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every line."""
    shown = "stdin" if name == "-" else name
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            yield f"{shown}:{number}", _text(line, shown, number)


def _text(line: bytes, file: str, number: int) -> str:
    text = decode_line(line, file, number)
    if not text.isascii():
        raise WeftError(f"{file}:{number}: not a line of links (it has letters beyond ASCII)")
    return text


def _parse_line(line: str, where: str, base: int) -> LinkLine:
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for token in line.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise WeftError(f"{where}: '{token[:50]}' is not a link such as 3-4 or 3p4")
        source, target = int(match[1]) - base, int(match[3]) - base
        if source < 0 or target < 0:
            raise WeftError(f"{where}: link {token} cannot be in a file that counts from one; does it count from zero?")
        (sure if match[2] == "-" else possible).add((source, target))
    certain = frozenset(sure)
    return LinkLine(where, certain, certain | possible if possible else certain)


def _parse_naacl(name: str, lines: Iterable[tuple[str, str]]) -> Iterator[LinkLine]:
    """Yield the sentences of ``sentence source target [S|P]`` lines, which count from one.

    Word 0 is the null word: its links are none.
    """
    sure: dict[int, set[tuple[int, int]]] = {}
    possible: dict[int, set[tuple[int, int]]] = {}
    first_line: dict[int, str] = {}
    for where, line in lines:
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        if match is None or int(match[1]) == 0:
            raise WeftError(f"{where}: not of the form 'sentence source target S|P', sentences from 1 on")
        sentence = int(match[1])
        first_line.setdefault(sentence, where)
        if 0 in (int(match[2]), int(match[3])):
            continue
        link = int(match[2]) - 1, int(match[3]) - 1
        possible.setdefault(sentence, set()).add(link)
        if match[4] != "P":
            sure.setdefault(sentence, set()).add(link)
    last = max(first_line, default=0)
    if last > 1_000 + _HOLES * len(first_line):
        raise WeftError(f"{first_line[last]}: sentence {last:,}, but {name} has links of {len(first_line):,} sentences")
    for sentence in range(1, last + 1):
        yield LinkLine(
            first_line.get(sentence, f"sentence {sentence}"),
            frozenset(sure.get(sentence, ())),
            frozenset(possible.get(sentence, ())),
        )
