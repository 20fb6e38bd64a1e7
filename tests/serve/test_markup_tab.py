"""Markup transfer on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_user import LATE, close_page, open_page
from playwright.sync_api import Browser, Page, expect

import weft
from weft.align.onnx_aligner import Aligner
from weft.apply.markup import TagHandling

TRANSLATION = "Klicken Sie auf Speichern, um Ihre letzten Änderungen zu behalten."


@pytest.fixture(scope="module")
def page(browser: Browser, page_folder: Path) -> Iterator[Page]:
    page = open_page(browser, page_folder, tab="markup")
    yield page
    close_page(page)


@pytest.fixture(scope="module")
def aligner() -> Iterator[Aligner]:
    with weft.load(fast=True, exact=True, cores=1) as aligner:
        yield aligner


@pytest.mark.parametrize(
    ("handling", "source"),
    [
        ("html", 'Click <b>Save</b> to keep your <a href="x.html">latest changes</a>.<br>'),
        ("xml", "Click <ui>Save</ui> to keep your <ref id='4'>latest changes</ref>."),
        ("xliff", 'Click <g id="1">Save</g> to keep your <g id="2">latest changes</g><x id="3"/>.'),
        ("markdown", "Click **Save** to keep your [latest changes](x.md)."),
    ],
)
def test_markup_is_put_where_python_puts_it(page: Page, aligner: Aligner, handling: TagHandling, source: str) -> None:
    page.select_option("#handling", handling)
    page.fill("#marked-source", source)
    page.fill("#plain-target", TRANSLATION)
    expected = aligner.transfer(source, TRANSLATION, handling=handling)
    expect(page.locator("#marked-target")).to_have_text(expected, timeout=LATE)
    expect(page.locator("#marked-shown")).to_have_text(source)
    assert page.locator("#marked-target .tag").count() >= 4


def test_an_element_can_be_split(page: Page, aligner: Aligner) -> None:
    source, target = "I <b>gave up</b> smoking.", "Ich gab das Rauchen auf."
    page.select_option("#handling", "html")
    page.fill("#marked-source", source)
    page.fill("#plain-target", target)
    expect(page.locator("#marked-target")).to_have_text(aligner.transfer(source, target))
    page.check("#split")
    expect(page.locator("#marked-target")).to_have_text(aligner.transfer(source, target, split=True))
    page.uncheck("#split")


def test_markup_is_shown_and_never_run(page: Page) -> None:
    page.fill("#marked-source", "Click <script>alert(1)</script> <img src=x onerror=alert(2)> <b>Save</b>")
    page.fill("#plain-target", "Klicken Sie auf Speichern")
    expect(page.locator("#marked-target")).to_contain_text("<b>Speichern</b>")
    assert page.locator("main img, main script, main b:has-text('Speichern')").count() == 0


def test_only_what_is_markup_stands_out(page: Page) -> None:
    for handling, source, tags in (
        ("html", "snake_case * 2 ~ <b>Save</b>", ["<b>", "</b>"]),
        ("markdown", "snake_case **Save** <b>", ["**", "**"]),
    ):
        page.select_option("#handling", handling)
        page.fill("#marked-source", source)
        expect(page.locator("#marked-shown .tag")).to_have_text(tags)


def test_each_kind_has_its_example(page: Page) -> None:
    page.fill("#marked-source", "")
    page.select_option("#handling", "markdown")
    expect(page.locator("#marked-source")).to_have_value("Click **Save** to keep your [latest changes](changes.md).")
    page.select_option("#handling", "xml")
    expect(page.locator("#marked-source")).to_have_value(
        'Click <ui>Save</ui> to keep your <ref id="4">latest changes</ref>.'
    )
