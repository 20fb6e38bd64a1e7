"""Small translation memories, written and read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

from weft.text.reading import Corpus


def tmx(units: Iterable[Iterable[tuple[str, str]]], header: str = 'srclang="en"', start: str = "") -> str:
    """A TMX file of units, each of languages with their segments, which may hold markup."""
    body = "".join(
        "<tu>" + "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in unit) + "</tu>\n"
        for unit in units
    )
    return f'{start}<tmx version="1.4">\n<header {header}/>\n<body>\n{body}</body></tmx>\n'


def tmx_of_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return tmx((("en", escape(source)), ("de", escape(target))) for source, target in pairs)


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def pairs_of(name: str, *languages: str) -> list[tuple[str, str]]:
    return [pair for block in Corpus(files=(name,), languages=languages).blocks() for pair in block.pairs()]
