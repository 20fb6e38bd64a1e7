"""A browser that tests share, and the page as ``weft page`` writes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from weft.serve.page_files import write_page

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")  # not longer: while it is there, asyncio runs nothing else in this process
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    path = shutil.which("chromium")
    if path is None:
        if os.environ.get("WEFT_TEST_BROWSER") == "required":
            pytest.fail("no chromium, but WEFT_TEST_BROWSER says that there is one")
        pytest.skip("needs chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with the aligner that comes with weft."""
    folder = tmp_path_factory.mktemp("page") / "weft"
    write_page(folder)
    return folder


@pytest.fixture(scope="module")
def page(browser: Browser, page_folder: Path) -> Iterator[Page]:
    """The page, opened from disk; whatever goes wrong in it fails the tests."""
    page, problems = browser.new_page(), list[str]()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto((page_folder / "index.html").as_uri())
    yield page
    page.close()
    assert not problems
