"""The page of ``weft align --format html`` in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_user import close_page, watch
from playwright.sync_api import Browser, Page, expect

from weft.align.alignment import Alignment
from weft.align.formats import FORMATS
from weft.text.words import Sentence

PAIRS = [
    Alignment(
        Sentence.from_text("Das  alte 😀 Haus, ja.", raw=True),
        Sentence.from_text("the old house\r 😀", raw=True),
        {(0, 0): 0.9, (1, 1): 0.8, (2, 3): 0.6, (3, 2): 0.75},
        score=0.5,
    ),
    Alignment(
        Sentence.from_text("<img src=x onerror=alert(1)>"),
        Sentence.from_text("</p><script>alert(2)</script>"),
        {(0, 0): 1.0},
    ),
    Alignment(Sentence.from_words([]), Sentence.from_words(["a"])),
]


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of a thousand pairs; it asks for nothing."""
    form = FORMATS["html"]
    path = tmp_path / "look.html"
    pairs = PAIRS + [PAIRS[0]] * 997
    content = form.start() + "".join(form.one(pair, number) for number, pair in enumerate(pairs, 1)) + form.end
    path.write_text(content, "utf-8", newline="")
    page = browser.new_page(viewport={"width": 360, "height": 700})
    watch(page, path)
    page.goto(path.as_uri())
    yield page
    close_page(page)


def test_pairs_are_drawn_when_they_come_into_sight(page: Page) -> None:
    expect(page.locator(".view").first).to_be_visible()
    assert 3 <= page.locator(".view").count() < 50 and page.locator(".pair").count() == 1000
    page.locator(".pair").last.scroll_into_view_if_needed()
    expect(page.locator(".pair").last.locator(".view")).to_be_visible()
    assert page.locator(".view").count() < 100
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_words_and_links_are_those_of_the_alignment(page: Page) -> None:
    for number, pair in enumerate(PAIRS):
        section = page.locator(".pair").nth(number)
        expect(section.locator(".words.source .word")).to_have_text([one.strip() for one in pair.source.words])
        expect(section.locator(".words.target .word")).to_have_text([one.strip() for one in pair.target.words])
        drawn = section.locator(".link").evaluate_all(
            "(all) => all.map((one) => `${one.dataset.source}-${one.dataset.target}`)"
        )
        assert " ".join(drawn) == str(pair)
    assert page.locator("body img, body script").count() == 0
    section = page.locator(".pair").first
    section.locator(".word", has_text="Haus").hover()
    assert section.locator(".word.on").all_text_contents() == ["Haus", "house"]
    section.locator(".word", has_text="alte").focus()
    page.keyboard.press("ArrowDown")
    expect(section.locator(".caption")).to_contain_text("old — alte 0.80")
    section.locator(".word", has_text="Das").click()
    section.locator(".word", has_text="house").click()  # links cannot be changed here
    assert section.locator(".link").count() == 4
    section.locator("summary").click()
    expect(section.locator("canvas")).to_be_visible()
