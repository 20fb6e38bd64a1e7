"""Word links in files: Pharaoh (``0-0 1-2``), gold with sure and possible links (``1-1 2p3``), NAACL 2003's and GIZA's.

Links are pairs (source word, target word), counted from zero; files may count from one. Sentences without links are
empty lines, so a file has one line for each sentence pair. NAACL's format has one link a line instead, and GIZA's (A3)
three lines a pair. Files are read line by line, so they may be of any size; only NAACL's has to be in memory.
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
GoldForm = Literal["links", "naacl", "giza"]

_LINK = re.compile(r"(\d{1,9})([-s]|[p?])(\d{1,9})(?::[\d.e-]+)?")  # sure or possible; perhaps with a probability
_NUMBERED = re.compile(r"\d+\t")  # SimAlign begins lines with the number of the sentence
_SCORE = re.compile(r"\s*-?(?:[\d.]+(?:e[-+]?\d+)?|inf|nan)\s*")  # fast_align -s ends lines with it, after |||
_NAACL = re.compile(r"\s*0*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+[\d.]+)?\s*")
_A3_HEAD = "# Sentence pair ("
_A3_PAIR = re.compile(r"# Sentence pair \((\d{1,9})\) source length (\d{1,9}) target length (\d{1,9})\b.*")
_A3_WORD = re.compile(r"\S+ \(\{((?: \d{1,9})*) \}\)\s*")
_A3_WORDS = re.compile(f"(?:{_A3_WORD.pattern})+")
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
    """Open a file of an aligner's links, in any form. Yields those of each sentence pair."""
    return open_gold(name, base).lines


def parse_links(line: bytes, file: str, number: int) -> LinkLine:
    """Return the links of one line of a file."""
    return _parse_line(decode_line(line, file, number), f"{file}:{number}", base=0)


def open_gold(name: str, base: int = 1, form: Literal["auto"] | GoldForm = "auto") -> GoldFile:
    """Open a file of gold links; ``auto`` tells the forms apart by the first line that is not blank."""
    lines = _text_lines(name)
    if form == "auto":
        begin = []
        for item in lines:
            begin.append(item)
            if item[1].strip():
                break
        form = _form_of(begin[-1][1]) if begin else "links"
        lines = itertools.chain(begin, lines)
    if form == "naacl":
        return GoldFile(form, 1, _parse_naacl(name, lines))
    if form == "giza":
        return GoldFile(form, 1, _parse_giza(lines))
    return GoldFile(form, base, (_parse_line(line, where, base) for where, line in lines))


def read_gold(name: str, base: int = 1, form: Literal["auto"] | GoldForm = "auto") -> list[LinkLine]:
    """Read a file of gold links into memory, as `open_gold` does."""
    return list(open_gold(name, base, form).lines)


def _form_of(line: str) -> GoldForm:
    """Return the form of a file, given its first line that is not blank."""
    if line.startswith(_A3_HEAD):
        return "giza"
    return "naacl" if _NAACL.fullmatch(line) else "links"


def _text_lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every line."""
    shown = "stdin" if name == "-" else name
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            yield f"{shown}:{number}", decode_line(line, shown, number)


def _check_ascii(line: str, where: str) -> None:
    if not line.isascii():  # which also excludes the digits of other scripts
        raise WeftError(f"{where}: not a line of links (it has letters beyond ASCII)")


def _parse_line(line: str, where: str, base: int) -> LinkLine:
    _check_ascii(line, where)
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    numbered = _NUMBERED.match(line)
    links, bars, score = line[numbered.end() if numbered else 0 :].partition("|||")
    if bars and not _SCORE.fullmatch(score):
        raise WeftError(f"{where}: expected a score after |||, as fast_align -s writes it")
    for token in links.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise WeftError(f"{where}: '{token[:50]}' is not a link such as 3-4 or 3p4")
        source, target = int(match[1]) - base, int(match[3]) - base
        if source < 0 or target < 0:
            raise WeftError(f"{where}: link {token} cannot be in a file that counts from one; does it count from zero?")
        (sure if match[2] in "-s" else possible).add((source, target))
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
        _check_ascii(line, where)
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


def _parse_giza(lines: Iterable[tuple[str, str]]) -> Iterator[LinkLine]:
    """Yield the sentence pairs of GIZA's A3: a line about the pair, the target sentence, and the source words.

    Each source word is followed by the numbers of its target words, from one on. The first is the null word.
    """
    iterator = iter(lines)
    for number, (where, head) in enumerate(iterator, 1):
        pair = _A3_PAIR.fullmatch(head.rstrip())
        next(iterator, None)  # the target sentence
        _, words = next(iterator, ("", ""))
        linked = _A3_WORD.findall(words)
        if pair is None or not _A3_WORDS.fullmatch(words) or len(linked) != int(pair[2]) + 1:
            raise WeftError(f"{where}: expected three lines of a sentence pair, as GIZA writes them (A3)")
        if int(pair[1]) != number:
            raise WeftError(f"{where}: pair {pair[1]}, but {number} is next; merge MGIZA's parts first")
        links = frozenset((source, int(place) - 1) for source, one in enumerate(linked[1:]) for place in one.split())
        if not all(0 <= target < int(pair[3]) for _, target in links):
            raise WeftError(f"{where}: a link leads out of a target sentence of {pair[3]} words")
        yield LinkLine(where, links, links)
