"""Draw one sentence pair as a matrix, in the terminal or into a file: source words on top, target words at the left.

Attention is a shade, a link a mark, gold a frame around the cell. Signs differ in form as well as in colour, so that
nothing is lost in print or to the colour-blind.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from weft.errors import WeftError, printable
from weft.links import LinkLine, Links
from weft.storage import atomic_file

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

Sign = Literal["link", "new", "sure", "possible", "attention"]

LABELS: dict[Sign, str] = {
    "link": "link",
    "new": "link in no other panel",
    "sure": "sure in gold",
    "possible": "possible in gold",
    "attention": "attention",
}


@dataclass(frozen=True)
class Panel:
    """One matrix: the links and the attention of one aligner, or of one direction of it."""

    title: str
    links: Links = frozenset()
    attention: np.ndarray | None = None
    """(target words, source words), from 0 to 1."""
    new: Links = frozenset()
    """The links that stand out, because no other panel has them."""

    def strength(self, source: int, target: int) -> float:
        """Return the attention between two words, 0 if it is not known."""
        return 0.0 if self.attention is None else float(self.attention[target, source].clip(0, 1))


@dataclass(frozen=True)
class Picture:
    """A sentence pair and the panels that show it, side by side."""

    source: list[str]
    target: list[str]
    panels: tuple[Panel, ...]
    gold: LinkLine | None = None

    def __post_init__(self) -> None:
        shape = len(self.target), len(self.source)
        for panel in self.panels:
            if panel.attention is not None and panel.attention.shape != shape:
                raise ValueError(f"{panel.title}: attention is {panel.attention.shape}, not (target, source) {shape}")

    def cells(self, panel: Panel) -> dict[Sign, Links]:
        """Return the cells of each sign in a panel, as pairs (source word, target word)."""
        pairs = [(source, target) for source in range(len(self.source)) for target in range(len(self.target))]
        sure, possible = (self.gold.sure, self.gold.possible) if self.gold else (frozenset(), frozenset())
        return {
            "link": panel.links - panel.new,
            "new": panel.new,
            "sure": sure,
            "possible": possible - sure,
            "attention": frozenset(pair for pair in pairs if panel.strength(*pair) >= 0.02),  # less cannot be seen
        }

    def signs(self) -> list[Sign]:
        """Return the signs that occur, for a legend."""
        panels = [self.cells(panel) for panel in self.panels]
        return [sign for sign in LABELS if any(cells[sign] for cells in panels)]


def letters(text: str, most: int = 24) -> list[str]:
    """Split text into letters as the eye sees them, each with its combining marks; at most ``most``, then an ellipsis.

    Characters that XML forbids or that terminals obey are replaced.
    """
    found: list[str] = []
    for character in text:
        if printable(character, keep="") != character or ord(character) & 0xFFFE == 0xFFFE:
            character = "\N{REPLACEMENT CHARACTER}"
        category = unicodedata.category(character)
        joined = category[0] == "M" or category == "Cf" or (found and found[-1].endswith("\N{ZERO WIDTH JOINER}"))
        if found and joined:
            found[-1] += character
        else:
            found.append(character)
    return found if len(found) <= most else [*found[: most - 1], "…"]


_METADATA: dict[str, dict[str, Any]] = {  # no dates: the same picture is the same file
    ".svg": {"Date": None},
    ".png": {},
    ".pdf": {"CreationDate": None},
}
_CELL = 0.28  # inches; all other lengths are in cells
_MOST_PIXELS = 10_000  # of a side: a few hundred megabytes while a PNG is drawn
_SLANT = 52  # degrees, of source words
_FAR = 15  # source words; beyond, the eye loses the row, and every panel has target words of its own
_INK = "#1d2733"
_LINES = {"colors": "#d9dee5", "linewidths": 0.7, "clip_on": False, "zorder": 2}
_MARK = {"edgecolors": "white", "linewidths": 0.8, "zorder": 4}
_FRAME = {"marker": "s", "side": 0.86, "facecolors": "none", "edgecolors": _INK, "linewidths": 1.2, "zorder": 3}
_STYLES: dict[Sign, dict[str, Any]] = {
    "link": {"marker": "o", "side": 0.56, "facecolors": "#12304f"} | _MARK,
    "new": {"marker": "D", "side": 0.46, "facecolors": "#d55e00"} | _MARK,
    "sure": _FRAME,
    "possible": _FRAME | {"linestyles": [(0, (1.6, 1.2))]},
    "attention": {"marker": "s", "side": 1.0, "facecolors": "#56a0d3", "linewidths": 0, "zorder": 1},
}


def draw(picture: Picture, path: Path) -> None:
    """Draw the picture into a file, in the format that its ending says."""
    if path.suffix not in _METADATA:
        raise WeftError(f"{path}: a picture ends in {', '.join(_METADATA)}; choose one of these formats")
    if path.is_dir() or not path.parent.is_dir():
        raise WeftError(f"{path}: {'is a folder' if path.is_dir() else 'its folder is missing'}; choose another name")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))  # of any size: it is saved with a tight box around all that is drawn
    FigureCanvasAgg(figure)  # which measures text
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 1 / _CELL), ylim=(1 / _CELL, 0))
    axes.set_axis_off()
    cells = max(len(picture.source) * len(picture.panels), len(picture.target))
    dots = min(200.0, _MOST_PIXELS / (_CELL * max(cells, 1)))
    # Words in SVG stay text, to be searched and to be seen in the reader's fonts; the salt fixes its inner names.
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "weft"}):
        warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks becomes a box
        _draw_picture(axes, picture)
        kind, metadata = path.suffix[1:], _METADATA[path.suffix]
        with atomic_file(path) as partial:
            figure.savefig(partial, format=kind, dpi=dots, bbox_inches="tight", pad_inches=0.12, metadata=metadata)


def _draw_picture(axes: Axes, picture: Picture) -> None:
    left = right = margin = 0.0
    for number, panel in enumerate(picture.panels):
        repeated = len(picture.source) > _FAR
        if number == 0 or repeated:
            margin = _write_targets(axes, picture.target, left)
        right = _draw_panel(axes, picture, panel, left)
        left = max(right, left + len(picture.source) + (margin if repeated else 0.0)) + 0.8
    _draw_legend(axes, picture.signs(), len(picture.target) + 0.6, right)


def _write_targets(axes: Axes, words: Sequence[str], left: float) -> float:
    """Write target words at the left of a panel. Returns the room that they take."""
    texts = [_write(axes, left - 0.3, row + 0.5, word, horizontalalignment="right") for row, word in enumerate(words)]
    return max((left - _box(axes, text).x0 for text in texts), default=0.0)


def _draw_panel(axes: Axes, picture: Picture, panel: Panel, left: float) -> float:
    """Draw one matrix. Returns its right end, with the words that lean over its edge."""
    width, height = len(picture.source), len(picture.target)
    axes.hlines(range(height + 1), left, left + width, **_LINES)
    axes.vlines([left + column for column in range(width + 1)], 0, height, **_LINES)
    for sign, links in picture.cells(panel).items():
        cells = sorted(links)  # the same order in every run
        strengths = [panel.strength(*cell) for cell in cells] if sign == "attention" else None
        _stamp(axes, sign, [(left + source, target) for source, target in cells], alpha=strengths)
    words = [
        _write(axes, left + column + 0.5, -0.3, word, rotation=_SLANT) for column, word in enumerate(picture.source)
    ]
    top = min((_box(axes, word).y1 for word in words), default=0.0)
    title = _write(axes, left, top - 0.8, panel.title, most=60, fontsize=10.5, fontweight="bold")
    return max(left + width, *(_box(axes, text).x1 for text in [*words, title]))


def _draw_legend(axes: Axes, signs: list[Sign], top: float, right: float) -> None:
    """Explain the signs from left to right, on several lines if the picture is narrow."""
    scale = (0.1, 0.3, 0.5, 0.7, 0.9)
    left = 0.0
    for sign in signs:
        width = 0.25 + 0.5 * len(scale) if sign == "attention" else 1.0
        label = _write(axes, left + width + 0.2, top + 0.5, LABELS[sign], fontsize=8)
        if left > 0 and _box(axes, label).x1 > right:
            left, top = 0.0, top + 1.2
            label.set_position((width + 0.2, label.get_position()[1] + 1.2))
        if sign == "attention":
            cells = [(left + 0.5 * step, top) for step in range(len(scale))]
            _stamp(axes, sign, cells, alpha=scale, side=0.5)
        else:
            _stamp(axes, sign, [(left, top)])
        left = _box(axes, label).x1 + 0.8


def _stamp(axes: Axes, sign: Sign, cells: Sequence[tuple[float, float]], **style: Any) -> None:
    """Put a sign into cells, given by their upper left corners."""
    if not cells:
        return
    style = _STYLES[sign] | style
    columns, rows = [left + 0.5 for left, _ in cells], [top + 0.5 for _, top in cells]
    axes.scatter(columns, rows, s=(72 * _CELL * style.pop("side")) ** 2, clip_on=False, **style)


def _write(axes: Axes, left: float, middle: float, text: str, most: int = 24, **style: Any) -> Text:
    """Write on a line of which the middle is given, so that all words have the same base line."""
    style.setdefault("fontsize", 9)
    shown = "".join(letters(text, most))
    return axes.text(left, middle + 0.15, shown, color=_INK, rotation_mode="anchor", parse_math=False, **style)


def _box(axes: Axes, text: Text) -> Bbox:
    """Return the box that a text covers; y1 is its upper end."""
    return text.get_window_extent().transformed(axes.transData.inverted())


_MARKS: dict[Sign, str] = {"link": "●", "new": "◆", "sure": "[ ]", "possible": "( )", "attention": "░▒▓█"}
_SHADES = "·░▒▓█"
_COLUMNS = 3  # of a terminal, for a cell


def terminal_grid(picture: Picture) -> str:
    """Return the panels of a picture one below the other, with source words written downwards, and a legend."""
    rows = ["".join(_composed(word)) for word in picture.target]
    margin = max(map(terminal_width, rows), default=0)
    header = _header([_composed(word) for word in picture.source])
    header.append("┌" + "─" * (_COLUMNS * len(picture.source)))
    lines: list[str] = []
    for panel in picture.panels:
        if panel.title:
            lines.append("".join(letters(panel.title, 60)))
        lines += [" " * (margin + 1) + line for line in header]
        cells = picture.cells(panel)
        for target, word in enumerate(rows):
            row = "".join(_cell(panel, cells, source, target) for source in range(len(picture.source)))
            lines.append(" " * (margin - terminal_width(word)) + f"{_in_place(word)} │{row}".rstrip())
        lines.append("")
    lines.append("   ".join(f"{_MARKS[sign]} {LABELS[sign]}" for sign in picture.signs()))
    return "\n".join(lines).rstrip()


def _composed(word: str) -> list[str]:
    """Split a word into letters with as few combining marks as possible: terminals are not good at these."""
    return letters(unicodedata.normalize("NFC", word))


def terminal_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter[0]) in "WF" else 1 for letter in letters(text))


def _in_place(text: str) -> str:
    """Mark text written from right to left, so that terminals and pages that turn it leave what is around it alone."""
    turned = any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text)
    return f"\N{LEFT-TO-RIGHT MARK}{text}\N{LEFT-TO-RIGHT MARK}" if turned else text


def _header(words: list[list[str]]) -> list[str]:
    """Write words from top to bottom, all of them ending on the last line."""
    height = max(map(len, words), default=0)
    columns = [[" "] * (height - len(word)) + word for word in words]
    padded = [
        [f" {_in_place(letter)}{' ' * (_COLUMNS - 1 - terminal_width(letter))}" for letter in column]
        for column in columns
    ]
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
