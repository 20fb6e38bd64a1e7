"""The page of ``weft align --format html``: all pairs, and the code that draws them, in one file that loads nothing.

Style and code are those of the page that aligns in a browser (``weft/serve/page``). A pair is written as its text, with
its words and links in attributes. So pages of thousands of pairs stay small, are written pair by pair, and can be read
without scripts; a pair is drawn when it comes into sight.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from html import escape
from importlib import resources

from weft.align.alignment import Alignment
from weft.text.words import Sentence

_SCRIPTS = ("offsets.js", "dom.js", "bands.js", "view.js", "heatmap.js", "standalone.js")
_STYLE = "style.css"
# What a parser of HTML would change: text is to be as long on the page as it is here.
_KEPT = str.maketrans({"\r": "&#13;", "\0": "\ufffd"})

PAGE_END = "</main></body></html>\n"


@functools.cache
def page_start() -> str:
    """Return the page up to its first pair. Nothing but its own style and scripts may run in it."""
    folder = resources.files("weft") / "serve" / "page"
    style = (folder / _STYLE).read_text("utf-8")
    script = "\n".join((folder / name).read_text("utf-8") for name in _SCRIPTS)
    policy = f"default-src 'none'; style-src {_checksum(style)}; script-src {_checksum(script)}; base-uri 'none'"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Word alignment</title>
<style>{style}</style><script>{script}</script></head><body><main class="pairs">
<h1>Word alignment</h1>
<p class="note">Point at a word, tap it or reach it with Tab and the arrow keys: its counterparts are marked. Grey words
have no link. The score, from 0 to 1, says how well the two sentences fit together. A stronger line is a more probable
link.</p>
"""


def page_section(alignment: Alignment, number: int) -> str:
    """Return the part of the page for one sentence pair."""
    links = " ".join(f"{source}-{target}:{one:.2f}" for (source, target), one in alignment.probabilities.items())
    sides = [_as_shown(side) for side in (alignment.source, alignment.target)]
    words = f'data-source="{_spans(sides[0])}" data-target="{_spans(sides[1])}"'
    texts = "".join(f'<p dir="auto">{_text(side.text)}</p>' for side in sides)
    head = f"<h2>{number} · score {alignment.score:.2f}</h2>"
    return f'<section class="pair card" {words} data-links="{links}">{head}{texts}</section>\n'


def _as_shown(sentence: Sentence) -> Sentence:
    """Return a sentence whose text has its words; tokens of other programs may be written in other ways."""
    words = [sentence.text[start:end] for start, end in sentence.spans]
    return sentence if words == sentence.words else Sentence.from_words(sentence.words)


def _spans(sentence: Sentence) -> str:
    return " ".join(f"{start}-{end}" for start, end in sentence.spans)


def _text(text: str) -> str:
    return escape(text, quote=False).translate(_KEPT)


def _checksum(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
