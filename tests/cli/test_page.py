"""``weft page``: the folder of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.page import page
from weft.errors import WeftError


def test_the_page_is_written_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "page"
    page(output=folder, model="ro-en")
    (folder / "left.txt").write_text("of an older version")
    page(output=folder, model="ro-en")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert {"index.html", "aligner.js", "data/manifest.js", "vendor/LICENSE", "vendor/ThirdPartyNotices.txt"} <= names
    assert not {"left.txt", "vendor/ort-wasm-simd-threaded.wasm.gz"} & names
    output = capsys.readouterr()
    assert output.out == ""
    assert f"{folder / 'index.html'}" in output.err


def test_what_is_no_small_aligner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="neither a shipped model"):
        page(output=tmp_path / "page", model="nowhere")
    assert not (tmp_path / "page").exists()
