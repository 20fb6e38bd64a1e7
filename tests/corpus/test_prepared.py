"""Prepared folders that are opened: what they hold, and that damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.config import PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.prepared import PreparedCorpus, open_prepared, read_manifest
from weft.errors import WeftError
from weft.text.reading import Corpus


def test_usual_vocabularies_have_ids_of_two_bytes(corpus: PreparedCorpus) -> None:
    assert corpus.manifest.vocabulary == len(corpus.subwords) == 458
    assert corpus.manifest.id_type == "<u2"
    assert corpus.source.ids.dtype == np.uint16 and corpus.source.offsets.dtype == np.int64


@pytest.mark.parametrize("change", ["shorter", "missing"])
def test_a_file_of_another_size_is_detected_at_once(change: str, text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare(Corpus(files=(str(text_file),)), PrepareConfig(merges=10), folder)
    ids = folder / "target.ids"
    if change == "missing":
        ids.unlink()
    else:
        ids.write_bytes(ids.read_bytes()[:-2])
    with pytest.raises(WeftError, match=r"target\.ids: missing or not as weft prepare wrote it"):
        open_prepared(folder)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": "another"}', '{"format": "weft prepared corpus 1"}', "counts", "files"]
)
def test_a_damaged_manifest_is_an_error(content: str, text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    prepare(Corpus(files=(str(text_file),)), PrepareConfig(merges=10), folder)
    if content in {"counts", "files"}:  # of another type
        content = json.dumps(json.loads((folder / "manifest.json").read_text(encoding="utf-8")) | {content: 1})
    (folder / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(WeftError, match=r"manifest\.json: .*make it with weft prepare"):
        open_prepared(folder)


def test_the_checksum_stands_for_the_content(text_file: Path, tmp_path: Path) -> None:
    corpus = Corpus(files=(str(text_file),))
    one, again, other = (
        prepare(corpus, PrepareConfig(merges=merges), tmp_path / name)
        for name, merges in (("one", 20), ("again", 20), ("other", 21))
    )
    assert one.checksum == again.checksum != other.checksum


def test_a_manifest_without_an_option_has_its_default(text_file: Path, tmp_path: Path) -> None:
    """So a corpus stays usable when weft gets a new option."""
    prepare(Corpus(files=(str(text_file),)), PrepareConfig(merges=10), tmp_path / "corpus")
    path = tmp_path / "corpus" / "manifest.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    del described["options"]["ratio"]
    path.write_text(json.dumps(described), encoding="utf-8")
    assert read_manifest(tmp_path / "corpus").options == PrepareConfig(merges=10)
