"""The page on small screens, in the dark, from right to left, for long sentences, for readers of screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_user import close_page, open_page, word, write_sentences
from playwright.sync_api import Browser, Page, expect

import weft
from weft.corpus.made_up import examples

OUTSIDE = """() => {
    const view = document.querySelector("#sentences .view").getBoundingClientRect();
    const parts = document.querySelectorAll("#sentences .view .word, #sentences .view .link path:not(.hit)");
    return [...parts].filter((part) => {
        const box = part.getBoundingClientRect();
        const [across, down] = [[box.left, box.right], [box.top, box.bottom]];
        return across.some((x) => x < view.left - 2 || x > view.right + 2)
            || down.some((y) => y < view.top - 2 || y > view.bottom + 2);
    }).length;
}"""


CUT = """([widths, links]) => {
    const lines = widths.map((side) => ({ widths: side, joined: side.map((_, place) => place % 4 === 3) }));
    return weft.bands.cutIntoBands(...lines, links, 200);
}"""


@pytest.fixture(scope="module")
def opened(browser: Browser, page_folder: Path) -> Iterator[Page]:
    page = open_page(browser, page_folder)
    yield page
    close_page(page)


@pytest.fixture
def page(opened: Page) -> Page:
    opened.set_viewport_size({"width": 1200, "height": 900})
    return opened


def width_of(page: Page) -> int:
    """Return how wide the page is, with what runs off the screen."""
    return page.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize("width", [1200, 360])
def test_long_sentences_never_run_off_the_page(page: Page, width: int) -> None:
    sentence = " ".join(f"word{number % 17} and{'so' * (number % 5)}" for number in range(250))
    page.set_viewport_size({"width": width, "height": 800})
    write_sentences(page, sentence, sentence)
    assert page.locator("#sentences .view .word").count() == 1000
    assert page.locator("#sentences .band").count() > 10
    assert page.evaluate(OUTSIDE) == 0 and width_of(page) == width
    page.locator("#sentences input[value=heat]").check(force=True)
    assert width_of(page) == width  # the heat map scrolls in its box
    page.locator("#sentences .heatmap .scroller").evaluate("(box) => { box.scrollLeft = box.scrollTop = 1e6; }")
    page.locator("#sentences .heatmap .scroller").hover()
    expect(page.locator("#sentences .heatmap .caption")).to_contain_text("mean")
    page.locator("#sentences input[value=lines]").check(force=True)


def test_a_word_wider_than_the_page_breaks(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    write_sentences(page, "Donaudampfschifffahrtsgesellschaft" * 5, "the company")
    assert page.evaluate(OUTSIDE) == 0 and width_of(page) == 360


def test_curves_follow_the_words_when_the_page_changes(page: Page) -> None:
    write_sentences(
        page, "Wir wohnen in dem großen Haus hinter der Schule .", "We live in the big house behind the school ."
    )
    assert page.locator("#sentences .band").count() == 1
    page.set_viewport_size({"width": 360, "height": 800})
    expect(page.locator("#sentences .band")).not_to_have_count(1)
    distances = page.evaluate(
        """() => [...document.querySelectorAll("#sentences .link")].flatMap((link) => {
            const path = link.lastElementChild, matrix = path.getScreenCTM();
            return [["source", 0], ["target", path.getTotalLength()]].map(([side, length]) => {
                const end = path.getPointAtLength(length).matrixTransform(matrix);
                const word = document.querySelector(`#sentences .${side} [data-place="${link.dataset[side]}"]`);
                const { left, right, top, bottom } = word.getBoundingClientRect();
                const down = Math.min(Math.abs(end.y - top), Math.abs(end.y - bottom));
                return Math.max(Math.abs(end.x - (left + right) / 2), down);
            });
        })"""
    )
    assert len(distances) >= 18 and max(distances) < 1.5


def test_bands_have_every_word_once_and_fit(page: Page) -> None:
    pairs = [(len(one.english), len(one.made_up), sorted(one.links)) for one in examples(30, seed=3)]
    pairs += [(0, 0, []), (1, 0, []), (0, 5, []), (200, 3, [[0, 0], [199, 2]])]
    for sources, targets, links in pairs:
        widths = [[10 + 7 * (place % 9) for place in range(count)] for count in (sources, targets)]
        bands = page.evaluate(CUT, [widths, links])
        for side, sizes in zip(("source", "target"), widths, strict=True):
            lines = [band[side] for band in bands]
            assert [place for first, end in lines for place in range(first, end)] == list(range(len(sizes)))
            assert all(sum(sizes[first:end]) <= 200 for first, end in lines)


def test_right_to_left_text_runs_so(page: Page) -> None:
    write_sentences(page, "الكلب الكبير نائم", "The big dog sleeps")
    assert page.locator("#sentences .words.source").get_attribute("dir") == "rtl"
    first, second = (word(page, "source", place).bounding_box() for place in (0, 1))
    assert first and second and first["x"] > second["x"]
    word(page, "source", 0).focus()
    page.keyboard.press("ArrowLeft")
    expect(word(page, "source", 1)).to_be_focused()


def test_the_page_follows_the_system_until_somebody_chooses(browser: Browser, page_folder: Path) -> None:
    page = open_page(browser, page_folder, color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('.bench')).transitionDuration") == "0s"
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert [sum(map(int, colour[4:-1].split(","))) > 380 for colour in (dark, light)] == [False, True]
    page.reload(wait_until="domcontentloaded")
    assert page.evaluate(background) == light
    close_page(page)


def test_what_is_chosen_shows_where_colours_are_forced(browser: Browser, page_folder: Path) -> None:
    page = open_page(browser, page_folder, forced_colors="active")
    for chosen, other in (
        ("#tab-sentences", "#tab-file"),
        ("#sentences .bar label:has(:checked) span", "#sentences .bar label:not(:has(:checked)) span"),
    ):
        look = "(one) => [getComputedStyle(one).backgroundColor, getComputedStyle(one).borderBottom]"
        assert page.locator(chosen).first.evaluate(look) != page.locator(other).first.evaluate(look)
    inks = page.locator("#sentences .heatmap").evaluate(
        "(one) => [getComputedStyle(one).color, getComputedStyle(one).caretColor]"
    )
    assert len(set(inks)) == 2  # frames are seen on dark cells
    close_page(page)


def test_everything_has_a_name_and_tabs_work_by_key(page: Page) -> None:
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, summary, [role=application]")]
            .filter((one) => !(one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim()))
            .map((one) => one.outerHTML)"""
    )
    assert unnamed == []
    page.focus("#tab-sentences")
    for name in ("file", "markup", "sentences"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(f"#tab-{name}")).to_be_focused()
        expect(page.locator(f"#{name}")).to_be_visible()
    assert page.locator("[role=tabpanel]:visible").count() == 1
    assert page.locator("html").get_attribute("lang") == "en" and page.locator("h1").count() == 1


def test_the_more_accurate_encoders_can_be_chosen(page: Page) -> None:
    expect(page.locator("#accurate-choice")).to_contain_text("MB more")
    pair = "Ich habe es ihm schon gestern gesagt, glaube ich.", "I think I already told him so yesterday."
    write_sentences(page, *pair)
    for fast in (True, False):
        page.set_checked("#accurate", not fast)
        with weft.load(raw=True, fast=fast, exact=True, cores=1) as aligner:
            score = aligner.align_one(*pair).score
        expect(page.locator("#sentences .score")).to_contain_text(f"Score {score:.2f}")
