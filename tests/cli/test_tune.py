"""``weft tune`` as users call it; tests/train/test_tuning.py has what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    ("what", "corrected", "gold", "message"),
    [
        (
            (),
            None,
            None,
            "give text as one file .*, or pairs with their links by --corrected",
        ),
        (("a", "b", "c"), "pairs.jsonl", None, "give text as one file or as two"),
        (("text.tsv",), None, "gold.txt", "--gold has the links of --corrected: give the pairs, too"),
        (("-",), "-", "gold.txt", r"stdin \(-\) can be read only once"),
        ((), "none.jsonl", None, "none.jsonl: no such file"),
        ((), "words.tsv", None, "words.tsv: give the links of its lines with --gold"),
    ],
)
def test_pairs_and_their_links_come_together(
    tmp_path: Path, what: tuple[str, ...], corrected: str | None, gold: str | None, message: str
) -> None:
    with pytest.raises(WeftError, match=message):
        tune(what, model="multi", output=tmp_path / "run", corrected=corrected, gold=gold)
    assert not (tmp_path / "run").exists()


def test_corrected_pairs_are_given_by_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words.tsv").write_text("das Haus\tthe house\n")
    (tmp_path / "links.txt").write_text("0-0 1p1\n")
    seen: list[Any] = []
    monkeypatch.setattr("weft.train.tuning.tune", lambda *given: seen.extend(given) or tmp_path)
    words, links = (str(tmp_path / name) for name in ("words.tsv", "links.txt"))
    tune((words, "pairs=7"), model="multi", output=tmp_path, corrected=words, gold=links, gold_base=0)
    _, corpus, _, config, _, _, corrected = seen
    (pair,) = corrected
    assert corpus.files == (words,) and config.pairs == 7
    assert pair.texts == ("das Haus", "the house") and pair.links.possible == {(0, 0), (1, 1)}
