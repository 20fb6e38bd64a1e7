"""Two sentences on the page, used as a person would: words, links, corrections, export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page_user import click_curve, close_page, drag, export, links, open_page, word, write_sentences
from playwright.sync_api import Browser, Page, expect

import weft
from weft.align.onnx_aligner import Aligner
from weft.links import read_gold, read_links

HOUSE = ("Das alte Haus gehört mir.", "The old house is mine.")
MENU = "#sentences .export"


@pytest.fixture(scope="module")
def opened(browser: Browser, page_folder: Path) -> Iterator[Page]:
    page = open_page(browser, page_folder, permissions=["clipboard-read", "clipboard-write"])
    yield page
    close_page(page)


@pytest.fixture
def page(opened: Page) -> Page:
    """The page as new, with a short pair on it."""
    opened.set_viewport_size({"width": 1200, "height": 900})
    opened.locator("#sentences input[value=lines]").check(force=True)
    opened.locator("#sentences .marks input[value=sure]").check(force=True)
    opened.uncheck("#spaced")
    write_sentences(opened, "", "")  # or the same text would keep its corrections
    write_sentences(opened, *HOUSE)
    return opened


@pytest.fixture(scope="module")
def aligner() -> Iterator[Aligner]:
    with weft.load(raw=True, fast=True, exact=True, cores=1) as aligner:
        yield aligner


@pytest.mark.parametrize(
    ("source", "target"),
    [
        HOUSE,
        ("Je n'ai jamais lu ce livre.", "I have never read this book."),
        ("الكلب الكبير نائم تحت الشجرة.", "The big dog is sleeping under the tree."),
        ("姉は東京で新しい本を買いました。", "My sister bought a new book in Tokyo. 😀"),
    ],
)
def test_words_are_joined_as_in_python_while_one_types(page: Page, aligner: Aligner, source: str, target: str) -> None:
    write_sentences(page, source, target)
    assert links(page) == str(aligner.align_one(source, target))


def test_words_may_be_what_stands_between_spaces(page: Page) -> None:
    page.check("#spaced")
    write_sentences(page, "Das Haus. gehört", "house. belongs")
    assert page.locator("#sentences .words.source .word").all_text_contents() == ["Das", "Haus.", "gehört"]
    with weft.load(fast=True, exact=True, cores=1) as spaced:
        assert links(page) == str(spaced.align_one("Das Haus. gehört", "house. belongs"))


def test_a_side_without_words_has_no_links(page: Page) -> None:
    write_sentences(page, "Das Haus", "")
    assert links(page) == ""
    write_sentences(page, "Das Haus", "the house")
    assert links(page) == "0-0 1-1"


def test_sides_can_be_swapped_and_examples_chosen(page: Page) -> None:
    page.click("#swap")
    expect(page.locator("#source")).to_have_value(HOUSE[1])
    for _ in range(2):  # also again, after other text was written
        page.select_option("#example", label="Korean – English")
        expect(page.locator("#sentences .words.source .word").first).to_have_text("친구는")
        write_sentences(page, *HOUSE)
        expect(page.locator("#example")).to_have_value("")


def test_pointing_at_a_word_marks_its_counterparts_and_says_them(page: Page) -> None:
    word(page, "source", 2).hover()
    assert page.locator("#sentences .word.on").all_text_contents() == ["Haus", "house"]
    assert page.locator("#sentences .link.on").count() == 1
    caption = page.locator("#sentences .stage.lines .caption")
    expect(caption).to_contain_text("Haus — house")
    assert caption.get_attribute("aria-live") == "polite"
    page.mouse.move(0, 0)
    expect(page.locator("#sentences .word.on")).to_have_count(0)


def test_the_threshold_chooses_links_without_the_model(page: Page) -> None:
    source, target = "Ich habe es ihm schon gestern gesagt, glaube ich.", "I think I already told him so yesterday."
    write_sentences(page, source, target)
    for threshold in (0.9, 0.2):
        page.locator("#sentences .slider input").fill(str(threshold))
        with weft.load(raw=True, fast=True, exact=True, cores=1, threshold=threshold) as python:
            assert links(page) == str(python.align_one(source, target))
    page.locator("#sentences .slider input").fill("0.35")


def test_dragging_links_and_clicking_a_curve_unlinks(page: Page) -> None:
    before = links(page)
    drag(page, word(page, "source", 0), word(page, "target", 4))
    assert set(links(page).split()) - set(before.split()) == {"0-4"}
    expect(page.locator("#sentences .slider input")).to_be_disabled()  # what is corrected stays
    click_curve(page, 0)
    assert "0-0" not in links(page).split()
    page.click("#sentences .undo")
    page.click("#sentences .undo")
    assert links(page) == before
    page.click("#sentences .redo")
    assert "0-4" in links(page).split()
    page.click("#sentences .reset")
    assert links(page) == before
    page.keyboard.press("Control+z")  # a reset can be undone, too
    assert "0-4" in links(page).split()
    page.keyboard.press("Control+y")
    assert links(page) == before


def test_a_drag_to_nowhere_or_to_a_linked_word_changes_nothing(page: Page) -> None:
    before = links(page)
    drag(page, word(page, "source", 0), page.locator("#sentences .bar"))
    drag(page, word(page, "source", 0), word(page, "source", 1))
    drag(page, word(page, "source", 2), word(page, "target", 2))
    assert links(page) == before


def test_links_are_marked_possible(page: Page) -> None:
    click_curve(page, 2, shift=True)
    assert "2p2" in links(page).split()
    page.locator("#sentences .marks input[value=possible]").check(force=True)
    drag(page, word(page, "source", 0), word(page, "target", 4))
    assert "0p4" in links(page).split()
    expect(page.locator("#sentences .key.possible")).to_be_visible()


def test_keys_do_everything(page: Page) -> None:
    before = links(page)
    page.focus("#sentences .export summary")
    page.keyboard.press("Tab")  # to the words
    expect(word(page, "source", 0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(word(page, "source", 1)).to_be_focused()
    expect(page.locator("#sentences .stage.lines .caption")).to_contain_text("alte — old")
    page.keyboard.press("ArrowDown")
    expect(word(page, "target", 1)).to_be_focused()
    page.keyboard.press("End")
    expect(word(page, "target", 5)).to_be_focused()
    page.keyboard.press("Enter")  # chosen
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")  # linked
    assert set(links(page).split()) - set(before.split()) == {"0-5"}
    page.keyboard.press("p")
    assert {"0p0", "0p5"} <= set(links(page).split())
    page.keyboard.press("Delete")
    assert not [one for one in links(page).split() if one.startswith("0")]
    for _ in range(4):
        page.keyboard.press("Control+z")
    assert links(page) == before


def test_a_finger_links_by_two_taps(browser: Browser, page_folder: Path) -> None:
    page = open_page(browser, page_folder, has_touch=True, viewport={"width": 390, "height": 800})
    write_sentences(page, *HOUSE)
    word(page, "source", 0).tap()
    expect(page.locator("#sentences .stage.lines .caption")).to_contain_text("choose a word on the other side")
    word(page, "target", 4).tap()
    assert "0-4" in links(page).split()
    close_page(page)


def test_a_finger_looks_at_a_cell_of_the_heat_map_before_it_changes_it(browser: Browser, page_folder: Path) -> None:
    page = open_page(browser, page_folder, has_touch=True, viewport={"width": 390, "height": 800})
    write_sentences(page, *HOUSE)
    before = links(page)
    page.locator("#sentences input[value=heat]").check(force=True)
    canvas = page.locator("#sentences .heatmap canvas")
    place = canvas.evaluate("(canvas) => ({ x: 100, y: canvas.clientHeight - 17 })")  # in the row of the full stop
    caption = page.locator("#sentences .heatmap .caption")
    for is_linked in (False, True):
        canvas.tap(position=place)
        expect(caption).to_contain_text(" — .: mean ")
        assert (caption.inner_text().endswith(", linked")) == is_linked
    page.locator("#sentences input[value=lines]").check(force=True)
    assert len(links(page).split()) == len(before.split()) + 1
    close_page(page)


def test_corrections_stay_as_long_as_the_text_does(page: Page) -> None:
    drag(page, word(page, "source", 0), word(page, "target", 4))
    score = page.inner_text("#sentences .score")
    page.check("#accurate")
    expect(page.locator("#sentences .score")).not_to_have_text(score)  # that of the other encoders
    assert "0-4" in links(page).split()
    page.uncheck("#accurate")
    write_sentences(page, HOUSE[0], HOUSE[1] + "!")
    assert "0-4" not in links(page).split()


def test_corrections_turn_with_the_sides(page: Page) -> None:
    before = links(page)
    drag(page, word(page, "source", 0), word(page, "target", 4))
    page.click("#swap")
    expect(word(page, "source", 2)).to_have_text("house")
    assert "4-0" in links(page).split() and "0-4" not in links(page).split()
    page.click("#sentences .undo")
    assert "4-0" not in links(page).split()
    page.click("#sentences .redo")
    page.click("#swap")
    expect(word(page, "source", 2)).to_have_text("Haus")
    assert "0-4" in links(page).split()
    page.click("#sentences .undo")
    assert links(page) == before


@pytest.mark.parametrize(
    ("text", "problem"),
    [("ein Wort " * 600, "a sentence of 1,200 words, but the limit is 1,023"), ("字" * 200_000, "200,000 characters")],
)
def test_a_text_that_is_no_sentence_is_refused_at_once(page: Page, text: str, problem: str) -> None:
    write_sentences(page, text, HOUSE[1])
    expect(page.locator("#sentences .score")).to_contain_text(f"{problem}; split it")
    assert page.locator("#sentences .word").count() == 0


def test_text_can_be_dropped_into_a_field(page: Page) -> None:
    prevented = page.evaluate(
        """() => ["dragover", "drop"].map((name) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.setData("text/plain", "Haus");
            const event = new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true });
            document.querySelector("#source").dispatchEvent(event);
            return event.defaultPrevented;
        })"""
    )
    assert prevented == [False, False] and page.locator("#sentences").is_visible()


def test_nothing_moves_when_the_page_says_something(page: Page) -> None:
    place = page.locator("#sentences .bench").bounding_box()
    export(page, MENU, "pharaoh")
    expect(page.locator("#status")).to_have_text("Saved.")
    assert page.locator("#sentences .bench").bounding_box() == place


def test_the_heat_map_shows_both_directions_and_links_by_key(page: Page) -> None:
    matrices = page.evaluate(
        """async ([source, target]) => {
            const aligner = await weft.app.aligner();
            const result = await aligner.align(weft.words.rawSentence(source), weft.words.rawSentence(target));
            return ["forward", "matrix", "backward"].map((name) => [...result[name]]);
        }""",
        HOUSE,
    )
    page.locator("#sentences input[value=heat]").check(force=True)
    box = page.locator("#sentences .heatmap .scroller")
    box.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # to the cell of "alte" and "old"
        page.keyboard.press(key)
    caption = page.locator("#sentences .heatmap .caption")
    forward, mean, backward = (matrix[1 * 6 + 1] for matrix in matrices)
    assert mean == pytest.approx((forward + backward) / 2, abs=1e-5)
    expect(caption).to_have_text(f"alte — old: mean {mean:.2f}, forward {forward:.2f}, backward {backward:.2f}, linked")
    page.keyboard.press("Enter")
    expect(caption).not_to_contain_text("linked")
    pictures = {box.screenshot()}
    for direction in ("forward", "backward"):
        page.locator(f"#sentences input[value={direction}]").check(force=True)
        pictures.add(box.screenshot())
    assert len(pictures) == 3


def test_exports_are_read_by_python(page: Page, tmp_path: Path) -> None:
    source, target = "Das 😀 alte Haus.", "The old 😀 house."
    write_sentences(page, source, target)
    drag(page, word(page, "source", 0), word(page, "target", 3))
    click_curve(page, 0, shift=True)
    shown = [(int(one[0]), int(one[-1])) for one in links(page).split()]
    (tmp_path / "links").write_bytes(export(page, MENU, "pharaoh"))
    assert [set(line.sure) for line in read_links(str(tmp_path / "links"))] == [set(shown)]
    (tmp_path / "gold").write_bytes(export(page, MENU, "gold"))
    [gold] = read_gold(str(tmp_path / "gold"))
    assert gold.possible == set(shown) and gold.possible - gold.sure == {(0, 0)}
    content = json.loads(export(page, MENU, "json"))
    assert [(i, j) for i, j, _ in content["links"]] == shown and content["possible"] == [[0, 0]]
    for side, text in (("source", source), ("target", target)):
        assert [text[start:end] for start, end in content[side]["offsets"]] == content[side]["words"]
    page.click(f"{MENU} summary")
    page.click(f"{MENU} [data-export=copy]")
    expect(page.locator("#status")).to_contain_text("clipboard")
    assert page.evaluate("navigator.clipboard.readText()") == " ".join(f"{i}-{j}" for i, j in shown)


@pytest.mark.parametrize("stage", ["lines", "heat"])
def test_pictures_are_exported(page: Page, stage: str) -> None:
    page.locator(f"#sentences input[value={stage}]").check(force=True)
    picture = ElementTree.fromstring(export(page, MENU, "svg"))
    name = "{http://www.w3.org/2000/svg}"
    words = [text.text for text in picture.iter(f"{name}text")]
    assert words == ["Das", "alte", "Haus", "gehört", "mir", ".", "The", "old", "house", "is", "mine", "."]
    paths = [path.get("d") for path in picture.iter(f"{name}path")]
    assert len(paths) == 6 and len(set(paths)) == 6
    assert export(page, MENU, "png").startswith(b"\x89PNG\r\n")


def test_scripts_in_text_do_not_run(page: Page) -> None:
    danger = '<img src=x onerror="alert(1)"> <script>alert(2)</script> javascript:alert(3)'
    write_sentences(page, danger, danger)
    word(page, "source", 0).hover()
    page.locator("#sentences input[value=heat]").check(force=True)
    assert page.locator("main img, main script").count() == 0
    assert "<script>" in (page.text_content("#sentences .words.source") or "")
    assert page.evaluate("document.querySelector('meta[http-equiv]').content").startswith("default-src 'none'")
