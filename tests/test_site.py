"""The site of the documentation: it builds without a warning, can be searched, and needs no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="needs mkdocs-material")
ROOT = Path(__file__).parents[1]
_LOADED = re.compile(r"""<(?:script|img|iframe|source|video)\s[^>]*src=["']?([^"'\s>]+)|url\(["']?([^"')]+)""")
_STYLE = re.compile(r"""<link\s(?=[^>]*rel=["']?(?:stylesheet|icon|preload|preconnect))[^>]*href=["']?([^"'\s>]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert result.returncode == 0, result.stderr  # also if a link leads nowhere
    return folder


def test_every_page_is_there_and_can_be_found(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"] if entry["text"]}
    start = (site / "index.html").read_text("utf-8")
    for page in [*ROOT.glob("docs/*.md"), ROOT / "EXPERIMENTS.md", ROOT / "CHANGELOG.md"]:
        place = page.relative_to(ROOT).with_suffix(".html").as_posix()
        assert place in found, place
        assert f'href="{place}"' in start, f"{place} is not in the navigation: add it to README.md's table"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {
        address
        for page in [*site.rglob("*.html"), *site.rglob("*.css")]
        for pattern in (_LOADED, _STYLE)
        for found in pattern.findall(page.read_text("utf-8"))
        for address in ((found,) if isinstance(found, str) else found)
        if address
    }
    assert any(address.endswith(".js") for address in loaded) and any(address.endswith(".css") for address in loaded)
    assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)]
