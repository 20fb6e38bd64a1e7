"""``weft tune`` as users call it; tests/train/test_tuning.py has what it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_files import tmx

from weft.cli.tune import tune
from weft.errors import WeftError


def test_two_languages_of_a_memory(tmp_path: Path) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx([[("fr", f"arbre {n}"), ("en-GB", f"tree {n}"), ("de", f"Baum {n}")] for n in range(9)]))
    with pytest.raises(WeftError, match="more than two languages"):
        tune((str(memory),), model="multi", output=tmp_path / "run")
    with pytest.raises(
        WeftError, match=r"memory\.tmx: has too few sentence pairs with different words on both sides: 9;"
    ):
        tune((str(memory), 'languages=["de", "en"]'), model="multi", output=tmp_path / "run")
