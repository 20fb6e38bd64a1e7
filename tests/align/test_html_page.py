"""The page of ``weft align --format html``, as text; tests/serve/test_standalone.py opens it in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from weft.align.alignment import Alignment
from weft.align.html_page import PAGE_END, page_section, page_start
from weft.apply.tokens import Tokens
from weft.text.words import Sentence

HOUSE = Alignment(
    Sentence.from_text("Das  alte Haus, ja.", raw=True),
    Sentence.from_text("the old house", raw=True),
    {(0, 0): 0.9, (1, 1): 0.8, (2, 2): 0.75},
    score=0.5,
)


class Pairs(HTMLParser):
    """Collects the attributes and paragraphs of all sections."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: list[tuple[dict[str, str | None], list[str]]] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "section":
            self.sections.append((dict(attrs), []))
        elif tag == "p" and self.sections:
            self.sections[-1][1].append("")

    def handle_data(self, data: str) -> None:
        if self.sections and self.sections[-1][1] and self.lasttag == "p":
            self.sections[-1][1][-1] += data


def test_a_pair_is_its_text_with_words_and_links() -> None:
    [(attributes, texts)] = Pairs(page_section(HOUSE, 7)).sections
    assert texts == ["Das  alte Haus, ja.", "the old house\n"]  # the line ends after the section
    assert attributes["data-source"] == "0-3 5-9 10-14 14-15 16-18 18-19"
    assert attributes["data-target"] == "0-3 4-7 8-13"
    assert attributes["data-links"] == "0-0:0.90 1-1:0.80 2-2:0.75"
    assert "7 · score 0.50" in page_section(HOUSE, 7)


def test_tokens_are_shown_as_they_are_written() -> None:
    tokens = Tokens("das Haus", ((0, 3), (3, 8)), written=("▁das", "▁Haus"))
    [(attributes, texts)] = Pairs(
        page_section(Alignment(tokens, Sentence.from_words(["house"]), {(1, 0): 1.0}), 1)
    ).sections
    assert texts[0] == "▁das ▁Haus" and attributes["data-source"] == "0-4 5-10"


def test_text_is_never_markup() -> None:
    danger = Alignment(Sentence.from_words(["<script>", "x&lt;"]), Sentence.from_words(["a\rb\0c"]), {(0, 0): 1.0})
    section = page_section(danger, 1)
    assert "<script>" not in section and "&lt;script&gt; x&amp;lt;" in section
    [(_, [source, target])] = Pairs(section).sections
    assert source == "<script> x&lt;" and len(target.rstrip("\n")) == len("a.b.c")  # as long as it was


def test_the_page_allows_its_own_code_alone() -> None:
    page = page_start() + page_section(HOUSE, 1) + PAGE_END
    parts = [re.findall(f"<{name}>(.*?)</{name}>", page, re.DOTALL) for name in ("style", "script")]
    assert [len(part) for part in parts] == [1, 1]
    for [content] in parts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'" in page
    assert "default-src 'none'" in page and "unsafe" not in page.partition("<style>")[0]
    assert Pairs(page).tags.count("script") == 1 and "link" not in Pairs(page).tags
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}  # the name of SVG
