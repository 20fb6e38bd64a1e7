"""Alignments to look at in a browser or a notebook: one page, nothing to load from anywhere.

A sentence pair is two lines of words; pointing at a word marks the words it is linked to. Under it, folded away, is the
matrix: source words on top, target words at the left, the darker a dot the surer the link.
"""

from __future__ import annotations

from html import escape

from weft.align.alignment import Alignment

_CELL, _LETTER, _FONT = 22, 7.2, 13  # pixels
_SLANT = 52  # degrees, of source words

PAGE_START = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Word alignment</title><style>
body { font: 16px/1.6 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1d2733; }
section { border-top: 1px solid #d9dee5; padding: .8rem 0; }
p { margin: .2rem 0; } p span { padding: .1rem .15rem; border-radius: .2rem; }
span.on { background: #ffd8a8; } span.alone { color: #8a94a0; }
summary, small { color: #66717d; font-size: .8rem; }
</style></head><body>
"""
PAGE_END = """<script>
for (const pair of document.querySelectorAll("section")) pair.onmouseover = ({target}) => {
  const links = (target.dataset.links || "").split(" ");
  for (const word of pair.querySelectorAll("p span"))
    word.className = word === target || links.includes(word.id) ? "on" : word.dataset.links ? "" : "alone";
};
</script></body></html>
"""


def section(alignment: Alignment, number: int) -> str:
    """One sentence pair of the page."""
    links: dict[str, list[str]] = {}
    for source, target in alignment.probabilities:
        links.setdefault(f"s{number}-{source}", []).append(f"t{number}-{target}")
        links.setdefault(f"t{number}-{target}", []).append(f"s{number}-{source}")
    sides = []
    for letter, words in (("s", alignment.source.words), ("t", alignment.target.words)):
        shown = " ".join(_word(word, f"{letter}{number}-{place}", links) for place, word in enumerate(words))
        sides.append(f"<p dir=auto>{shown}</p>")
    head = f"<small>{number} · score {alignment.score:.2f}</small>"
    return f"<section>{head}{''.join(sides)}<details><summary>matrix</summary>{matrix(alignment)}</details></section>\n"


def _word(word: str, name: str, links: dict[str, list[str]]) -> str:
    own = " ".join(links.get(name, ()))
    look = "" if own else " class=alone"
    return f'<span id="{name}" data-links="{own}"{look}>{escape(word)}</span>'


def matrix(alignment: Alignment) -> str:
    """The links as a picture (SVG)."""
    source, target = alignment.source.words, alignment.target.words
    left = 10 + _LETTER * max(map(len, target), default=0)
    top = 14 + _LETTER * max(map(len, source), default=0) * 0.8
    width = left + _CELL * len(source) + _LETTER * max(map(len, source), default=0) * 0.62 + 10
    height = top + _CELL * len(target) + 6
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-size="{_FONT}" '
        'font-family="system-ui, sans-serif" fill="#1d2733">'
    ]
    for place, word in enumerate(source):
        x = left + _CELL * (place + 0.5)
        parts.append(f'<text transform="translate({x:.1f} {top - 6:.1f}) rotate(-{_SLANT})">{escape(word)}</text>')
    for place, word in enumerate(target):
        y = top + _CELL * (place + 0.5)
        parts.append(f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(word)}</text>')
    right, bottom = left + _CELL * len(source), top + _CELL * len(target)
    lines = [f"M{left + _CELL * place:.1f} {top:.1f}V{bottom:.1f}" for place in range(len(source) + 1)]
    lines += [f"M{left:.1f} {top + _CELL * place:.1f}H{right:.1f}" for place in range(len(target) + 1)]
    parts.append(f'<path d="{"".join(lines)}" stroke="#d9dee5" fill="none"/>')
    for (i, j), probability in alignment.probabilities.items():
        x, y = left + _CELL * (i + 0.5), top + _CELL * (j + 0.5)
        title = f"<title>{escape(source[i])} – {escape(target[j])}: {probability:.2f}</title>"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="#12304f" fill-opacity="{probability:.2f}">{title}</circle>'
        )
    return "".join(parts) + "</svg>"
