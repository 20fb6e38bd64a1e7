"""An aligner whose one encoder reads both sides."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from weft.align.model_folder import AlignerFolder, read_aligner, shipped_models, write_aligner


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """The source encoders of a shipped aligner, to read both sides."""
    config, subwords, arrays = read_aligner(shipped_models()["ro-en"])
    chosen = {name.replace("source.", "both."): one for name, one in arrays.items() if "target." not in name}
    write_aligner(tmp_path / "shared", AlignerFolder(dataclasses.replace(config, shared=True), subwords, chosen))
    return tmp_path / "shared"
