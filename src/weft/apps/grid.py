"""A picture of ``picture.py`` as characters in a terminal: a cell is three columns, gold the brackets around its mark.

Columns are counted as terminals do it: Chinese, Japanese and Korean letters take two, combining marks none.
"""

from __future__ import annotations

import unicodedata

from weft.apps.picture import LABELS, Panel, Picture, Sign, letters
from weft.text.links import Links

_MARKS: dict[Sign, str] = {"link": "●", "new": "◆", "sure": "[ ]", "possible": "( )", "attention": "░▒▓█"}
_SHADES = "·░▒▓█"
_CELL = 3  # columns


def terminal_grid(picture: Picture) -> str:
    """The panels of a picture one under the other, with source words written downwards, and a legend."""
    rows = ["".join(_composed(word)) for word in picture.target]
    margin = max(map(_columns, rows), default=0)
    header = _header([_composed(word) for word in picture.source])
    header.append("┌" + "─" * (_CELL * len(picture.source)))
    lines: list[str] = []
    for panel in picture.panels:
        if panel.title:
            lines.append("".join(letters(panel.title, 60)))
        lines += [" " * (margin + 1) + line for line in header]
        cells = picture.cells(panel)
        for target, word in enumerate(rows):
            row = "".join(_cell(panel, cells, source, target) for source in range(len(picture.source)))
            lines.append(" " * (margin - _columns(word)) + f"{word} │{row}".rstrip())
        lines.append("")
    lines.append("   ".join(f"{_MARKS[sign]} {LABELS[sign]}" for sign in picture.signs()))
    return "\n".join(lines).rstrip()


def _composed(word: str) -> list[str]:
    """Letters with as few combining marks as they can have: terminals are not good at these."""
    return letters(unicodedata.normalize("NFC", word))


def _columns(text: str) -> int:
    """How many columns a terminal takes for a text."""
    return sum(2 if unicodedata.east_asian_width(letter[0]) in "WF" else 1 for letter in letters(text))


def _header(words: list[list[str]]) -> list[str]:
    """Words from top to bottom, all of them ending on the last line."""
    height = max(map(len, words), default=0)
    columns = [[" "] * (height - len(word)) + word for word in words]
    padded = [[f" {letter}{' ' * (_CELL - 1 - _columns(letter))}" for letter in column] for column in columns]
    return [f" {''.join(line)}".rstrip() for line in zip(*padded, strict=True)]


def _cell(panel: Panel, cells: dict[Sign, Links], source: int, target: int) -> str:
    link = source, target
    mark = _SHADES[round(panel.strength(source, target) * (len(_SHADES) - 1))]
    sides = "  " if mark == _SHADES[0] else mark * 2
    if link in cells["link"] or link in cells["new"]:
        mark, sides = _MARKS["new" if link in cells["new"] else "link"], "  "
    if link in cells["sure"]:
        sides = "[]"
    elif link in cells["possible"]:
        sides = "()"
    return sides[0] + mark + sides[1]
