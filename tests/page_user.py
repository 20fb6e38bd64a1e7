"""What a user does with the page, for its tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

LATE = 30_000  # milliseconds in which the model must have been loaded on a busy machine


def open_page(browser: Browser, folder: Path, tab: str = "sentences", **context: object) -> Page:
    """Open the page from disk as a new visitor, at one of its tabs, and wait for the first alignment.

    Errors of the page, questions that it asks and requests to anywhere else make `close_page` fail.
    """
    page = browser.new_context(**context).new_page()  # pyrefly: ignore[bad-argument-type]
    page.set_default_timeout(10_000)
    problems: list[str] = []
    vars(page)["problems"] = problems
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}") or dialog.dismiss())
    page.on("request", lambda request: problems.append(request.url) if not _is_own(request.url, folder) else None)
    page.goto((folder / "index.html").as_uri())
    expect(page.locator("#sentences .link").first).to_be_attached(timeout=LATE)
    if tab != "sentences":
        page.click(f"#tab-{tab}")
    return page


def _is_own(url: str, folder: Path) -> bool:
    return url.startswith((folder.as_uri(), "blob:", "data:"))


def close_page(page: Page) -> None:
    """Close the page. Fails if something went wrong in it."""
    page.context.close()
    assert not vars(page)["problems"]


def write_sentences(page: Page, source: str, target: str) -> None:
    """Write both sentences, and wait until they are aligned."""
    page.fill("#source", source)
    page.fill("#target", target)
    expect(page.locator("#sentences .bench")).to_have_attribute("aria-busy", "false")


def word(page: Page, side: str, place: int) -> Locator:
    """Return a word of the pair that is shown."""
    return page.locator(f".word[data-side={side}][data-place='{place}']:visible")


def links(page: Page) -> str:
    """Return the links that are drawn, with `p` for possible ones; other links that are compared with are left out."""
    return page.locator(".view:visible .link:not(.missing)").evaluate_all(
        """(groups) => groups.map((group) => {
            const between = group.classList.contains("possible") ? "p" : "-";
            return group.dataset.source + between + group.dataset.target;
        }).join(" ")"""
    )


def drag(page: Page, start: Locator, end: Locator) -> None:
    """Drag with the mouse from the middle of one element to that of another."""
    for place, locator in enumerate((start, end)):
        box = locator.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        if place == 0:
            page.mouse.down()
    page.mouse.up()


def click_curve(page: Page, number: int, shift: bool = False) -> None:
    """Click the middle of a curve."""
    x, y = page.locator(".view:visible .link .hit").nth(number).evaluate(
        """(path) => {
            const point = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
            return [point.x, point.y];
        }"""
    )
    if shift:
        page.keyboard.down("Shift")
    page.mouse.click(x, y)
    page.keyboard.up("Shift")


def export(page: Page, menu: str, kind: str) -> bytes:
    """Return the file that an entry of an export menu saves."""
    page.click(f"{menu} summary")
    with page.expect_download() as download:
        page.click(f"{menu} [data-export={kind}]")
    return Path(download.value.path()).read_bytes()
