"""The folder that ``weft page`` writes: complete, small enough, and all that the page ever asks for."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from weft.align.model_folder import open_model, read_aligner
from weft.errors import WeftError
from weft.serve.page_files import STATIC, in_seven_bits, write_page

MOST_BYTES = 20_000_000
LOAD_AND_ALIGN = """async (fast) => {
  const shares = [];
  const aligner = await weft.aligner.load({ fast, onProgress: (share) => shares.push(share) });
  const [source, target] = ["Das alte Haus.", "The old house."].map(weft.words.rawSentence);
  const { links } = await aligner.align(source, target);
  return { shares, links: links.map((link) => link.slice(0, 2).join("-")).join(" ") };
}"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as any web server would; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def requests_of(page: Page) -> list[str]:
    """Collect the addresses that a page asks for, without the data that it makes itself."""
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    return addresses


@pytest.mark.parametrize("fast", [True, False])
def test_the_page_works_on_a_web_server_and_asks_nobody_else(browser: Browser, page_folder: Path, fast: bool) -> None:
    with served(page_folder) as address:
        page = browser.new_page()
        addresses = requests_of(page)
        page.goto(address + "index.html")
        answer = page.evaluate(LOAD_AND_ALIGN, fast)
        page.close()
    assert answer["links"] == "0-0 1-1 2-2 3-3"
    assert answer["shares"] == sorted(answer["shares"]) and answer["shares"][-1] == 1
    others = [one for one in addresses if not one.startswith((address, f"blob:{address}", "data:image/"))]
    assert not others
    files = {page_folder / one.removeprefix(address) for one in addresses if one.startswith(address)}
    assert 15_000_000 < sum(file.stat().st_size for file in files) < MOST_BYTES


def test_the_page_works_from_disk(browser: Browser, page_folder: Path) -> None:
    page = browser.new_page()
    addresses = requests_of(page)
    page.goto((page_folder / "index.html").as_uri())
    assert page.evaluate(LOAD_AND_ALIGN, True)["links"] == "0-0 1-1 2-2 3-3"
    page.close()
    folder = page_folder.as_uri()
    assert all(one.startswith((folder, "blob:null/", "data:image/")) for one in addresses)


def test_the_page_may_ask_nobody_else(browser: Browser, page_folder: Path) -> None:
    """Its policy forbids it, whatever a script tries."""
    blocked = """async () => {
      const told = new Promise((resolve) => addEventListener("securitypolicyviolation", resolve, { once: true }));
      const answer = await fetch("https://example.org/").then(() => "asked", () => "refused");
      return [answer, (await told).effectiveDirective];
    }"""
    page = browser.new_page()
    page.goto((page_folder / "index.html").as_uri())
    assert page.evaluate(blocked) == ["refused", "connect-src"]
    page.close()


def test_a_file_that_is_missing_is_named_and_can_be_loaded_later(browser: Browser, page_folder: Path) -> None:
    page = browser.new_page()
    page.route("**/subwords.0.js", lambda route: route.abort())
    with served(page_folder) as address:
        page.goto(address + "index.html")
        with pytest.raises(
            Exception, match=r"data/subwords\.0\.js cannot be loaded; is the folder of the page complete"
        ):
            page.evaluate(LOAD_AND_ALIGN, True)
        page.unroute("**/subwords.0.js")
        assert page.evaluate(LOAD_AND_ALIGN, True)["links"] == "0-0 1-1 2-2 3-3"
    page.close()


@pytest.mark.parametrize(
    "damage", ['weft.files.packed["data/subwords.0.js"]="', 'weft.files.packed["data/other.js"]=""']
)
def test_a_damaged_file_is_named(browser: Browser, page_folder: Path, damage: str) -> None:
    page = browser.new_page()
    page.route("**/subwords.0.js", lambda route: route.fulfill(body=damage, content_type="text/javascript"))
    with served(page_folder) as address:
        page.goto(address + "index.html")
        with pytest.raises(Exception, match=r"data/subwords\.0\.js is damaged, or is not served as UTF-8"):
            page.evaluate(LOAD_AND_ALIGN, True)
    page.close()


@settings(max_examples=100)
@given(st.binary(max_size=100))
def test_seven_bits_hold_all_bytes(content: bytes) -> None:
    text = in_seven_bits(content)
    assert json.loads(f'"{text}"', strict=False) == text  # a string without escapes
    assert not set('\0\n\r"\\') & set(text)
    sevens: list[int] = []
    for code in map(ord, text):
        sevens += [code] if code < 128 else [b'\0\n\r"\\'[(code - 128) // 128], code % 128]
    bits = "".join(f"{seven:07b}" for seven in sevens)
    assert bytes(int(bits[first : first + 8], 2) for first in range(0, 8 * len(content), 8)) == content
    assert len(text.encode()) <= len(content) * 8 / 7 + 2


def test_the_tables_of_the_page_are_those_of_the_model(page: Page) -> None:
    model = read_aligner(open_model())
    single, merges = model.subwords.merge_table()
    arrays = {"subwords": np.concatenate([single, merges.T.ravel()]), "both.rows": next(iter(model.tables().values()))}
    read = """async (name) => {
      const [content] = await weft.files.read([name]);
      const digest = await crypto.subtle.digest("SHA-256", content);
      return Array.from(new Uint8Array(digest));
    }"""
    for name, array in arrays.items():
        assert bytes(page.evaluate(read, name)) == hashlib.sha256(array.tobytes()).digest()


def test_vendored_files_are_those_that_the_note_names() -> None:
    vendor = STATIC / "vendor"
    sums = re.findall(
        r"^\| `([^`]+)`.* \| `([0-9a-f]{64})` \|$", (vendor / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(sums) == 3
    for name, wanted in sums:
        path = vendor / name
        content = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == wanted, name


def test_other_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(WeftError, match="holds other files than a page; name a new folder"):
        write_page(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
