"""Alignments as text: the formats of ``weft align``. docs/aligning.md shows each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any, Literal, NamedTuple

from weft.align.alignment import Alignment
from weft.align.html_page import PAGE_END, page_section, page_start
from weft.align.pictures import Panel, Picture, letters, terminal_grid, terminal_width
from weft.text.words import Sentence

_SPACE = re.compile(r"[ \t\n\r\f\v]")
FormatName = Literal["pharaoh", "probabilities", "words", "giza", "jsonl", "html", "grid"]


class Format(NamedTuple):
    """How alignments are written: as text, line ends included, unless ``join`` says otherwise."""

    one: Callable[[Alignment, int], Any]
    """Returns the text of an alignment; pairs are numbered from one."""
    start: Callable[[], str] = str
    """Returns what stands before all pairs."""
    end: str = ""
    is_line: bool = False
    """Each alignment is one line, so that a file can be continued after an interruption."""
    gap: str = "a pair without links"
    """What the output has for a line that cannot be aligned."""
    join: Callable[[list[Any]], Any] = "".join
    """Returns what is written for several alignments."""


def _unbroken(sentence: Sentence) -> list[str]:
    """Return the words of a sentence; white space in one becomes ▁, so that no reader cuts it in two."""
    return [_SPACE.sub("▁", word) for word in sentence.words]


def _pharaoh(alignment: Alignment, number: int) -> str:
    return f"{alignment}\n"


def _probabilities(alignment: Alignment, number: int) -> str:
    links = alignment.probabilities.items()
    return " ".join(f"{source}-{target}:{probability:.3f}" for (source, target), probability in links) + "\n"


def _words(alignment: Alignment, number: int) -> str:
    source, target = _unbroken(alignment.source), _unbroken(alignment.target)
    return " ".join(f"{source[i]}|{target[j]}" for i, j in alignment.probabilities) + "\n"


def _giza(alignment: Alignment, number: int) -> str:
    """Return a header, the target sentence, and each source word with its target words, counted from one."""
    source, target = _unbroken(alignment.source), _unbroken(alignment.target)
    head = f"# Sentence pair ({number}) source length {len(source)} target length {len(target)}"
    linked: list[list[int]] = [[] for _ in source]
    for i, j in sorted(alignment.probabilities):
        linked[i].append(j + 1)
    words = [("NULL", [j + 1 for j in alignment.unaligned("target")]), *zip(source, linked, strict=True)]
    shown = " ".join(f"{word} ({{ {''.join(f'{place} ' for place in places)}}})" for word, places in words)
    return f"{head} alignment score : {alignment.score:.6g}\n{' '.join(target)}\n{shown}\n"


def _jsonl(alignment: Alignment, number: int) -> str:
    def side(sentence: Sentence) -> dict[str, Any]:
        return {"text": sentence.text, "words": sentence.words, "offsets": sentence.spans}

    links = [[i, j, round(probability, 4)] for (i, j), probability in alignment.probabilities.items()]
    score = round(alignment.score, 4)
    members = {"source": side(alignment.source), "target": side(alignment.target), "links": links, "score": score}
    return json.dumps(members, ensure_ascii=False) + "\n"


def _grid(alignment: Alignment, number: int) -> str:
    picture = Picture(alignment.source.words, alignment.target.words, (Panel("", alignment.links),))
    return terminal_grid(picture) + "\n\n"


_CELL, _LETTER, _FONT = 22, 7.2, 13  # pixels
_SLANT = 52  # degrees, of source words


def matrix(alignment: Alignment) -> str:
    """Draw the links as a picture (SVG) in a box that scrolls. Its colour is that of the text around it."""
    source, target = (["".join(letters(word)) for word in side.words] for side in (alignment.source, alignment.target))
    tall, wide = (_LETTER * max(map(terminal_width, words), default=0) for words in (source, target))  # longest words
    left, top = round(10 + wide), round(14 + tall * 0.8)
    right, bottom = left + _CELL * len(source), top + _CELL * len(target)
    width = right + tall * 0.62 + 10  # of the last source words, which lean over the edge
    parts = [
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{bottom + 6}" font-size="{_FONT}" font-family="system-ui, sans-serif" fill="currentColor">'
    ]
    for place, word in enumerate(source):
        x = left + _CELL * place + _CELL // 2
        parts.append(f'<text transform="translate({x} {top - 6})rotate(-{_SLANT})">{escape(word)}</text>')
    for place, word in enumerate(target):
        parts.append(f'<text x="{left - 6}" y="{top + _CELL * place + 15}" text-anchor="end">{escape(word)}</text>')
    lines = [f"M{left + _CELL * place} {top}V{bottom}" for place in range(len(source) + 1)]
    lines += [f"M{left} {top + _CELL * place}H{right}" for place in range(len(target) + 1)]
    parts.append(f'<path d="{"".join(lines)}" stroke="currentColor" stroke-opacity=".2"/>')
    for (i, j), probability in alignment.probabilities.items():
        x, y = left + _CELL * i + _CELL // 2, top + _CELL * j + _CELL // 2
        title = f"<title>{escape(source[i])} – {escape(target[j])}: {probability:.2f}</title>"
        parts.append(f'<circle cx="{x}" cy="{y}" r="7" fill-opacity="{probability:.2f}">{title}</circle>')
    return "".join(parts) + "</svg></div>"


def _source_words(alignment: Alignment, number: int) -> str:
    return " ".join(_unbroken(alignment.source)) + "\n"


def _target_words(alignment: Alignment, number: int) -> str:
    return " ".join(_unbroken(alignment.target)) + "\n"


SOURCE_WORDS, TARGET_WORDS = Format(_source_words, is_line=True), Format(_target_words, is_line=True)
"""The words of one side."""
FORMATS: dict[FormatName, Format] = {
    "pharaoh": Format(_pharaoh, is_line=True, gap="an empty line"),
    "probabilities": Format(_probabilities, is_line=True, gap="an empty line"),
    "words": Format(_words, is_line=True, gap="an empty line"),
    "giza": Format(_giza),
    "jsonl": Format(_jsonl, is_line=True),
    "html": Format(page_section, page_start, PAGE_END),
    "grid": Format(_grid),
}
