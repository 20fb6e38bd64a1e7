"""The notebooks of examples/: their cells run in order, and they are kept without output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_cells_run_in_order(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(path.parent)
    described = json.loads(path.read_text("utf-8"))
    names: dict[str, Any] = {}
    for cell in described["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None, "clear all outputs"
            exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)  # it is our own
    assert capsys.readouterr().out


def test_notebooks_are_valid() -> None:
    nbformat = pytest.importorskip("nbformat")
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        nbformat.validate(nbformat.read(path, as_version=4))
