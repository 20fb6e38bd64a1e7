"""What a user does with the page, for its tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, expect

LATE = 30_000  # milliseconds in which the model must have been loaded on a busy machine


def open_page(browser: Browser, folder: Path, tab: str = "sentences", **context: object) -> Page:
    """Open the page from disk as a new visitor, at one of its tabs; do not wait for the model.

    What goes wrong makes `close_page` fail.
    """
    page = browser.new_context(**context).new_page()  # pyrefly: ignore[bad-argument-type]
    watch(page, folder)
    page.goto((folder / "index.html").as_uri(), wait_until="domcontentloaded")
    if tab != "sentences":
        page.click(f"#tab-{tab}")
    return page


def watch(page: Page, own: Path) -> None:
    """Note the errors of a page, the questions that it asks, and requests for what is not its own."""
    problems: list[str] = []

    def requested(address: str) -> None:
        if not address.startswith((own.as_uri(), "blob:", "data:")):
            problems.append(address)

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(message.text)

    def asked(dialog: Dialog) -> None:
        problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    vars(page)["problems"] = problems
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", said)
    page.on("dialog", asked)
    page.on("request", lambda request: requested(request.url))


def close_page(page: Page) -> None:
    """Close a page that was watched. Fails if something went wrong in it."""
    page.context.close()
    assert vars(page)["problems"] == []


def write_sentences(page: Page, source: str, target: str) -> None:
    """Write both sentences, and wait until they are aligned."""
    page.fill("#source", source)
    page.fill("#target", target)
    expect(page.locator("#sentences .bench")).to_have_attribute("aria-busy", "false", timeout=LATE)


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
    x, y = (
        page.locator(".view:visible .link .hit")
        .nth(number)
        .evaluate(
            """(path) => {
            const point = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
            return [point.x, point.y];
        }"""
        )
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
