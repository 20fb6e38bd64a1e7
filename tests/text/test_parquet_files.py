"""Sentence pairs in the columns of Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from weft.errors import BadLine, WeftError
from weft.text.reading import Corpus


def test_columns_of_a_parquet_file(tmp_path: Path) -> None:
    pairs = [("das Haus", "the house"), ("", ""), (None, "a\tb"), ("x\ny", "z")]
    table = pyarrow.table({"id": range(4), "target": [t for _, t in pairs], "source": [s for s, _ in pairs]})
    pyarrow.parquet.write_table(table, tmp_path / "text.parquet")
    corpus = Corpus(files=(str(tmp_path / "text.parquet"),))
    blocks = list(corpus.blocks(3))
    assert [(block.first_line, len(block.source)) for block in blocks] == [(1, 3), (4, 1)]
    found = [pair for block in blocks for pair in block.pairs()]
    assert found == [(source or "", target) for source, target in pairs]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "large_binary", "dictionary"])
def test_text_of_any_type_in_a_parquet_file(kind: str, tmp_path: Path) -> None:
    texts = pyarrow.array(["größer", None])
    texts = texts.dictionary_encode() if kind == "dictionary" else texts.cast(getattr(pyarrow, kind)())
    name = str(tmp_path / "text.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"source": texts, "target": texts}), name)
    assert [pair for block in Corpus(files=(name,)).blocks() for pair in block.pairs()] == [
        ("größer", "größer"),
        ("", ""),
    ]


def test_invalid_utf8_in_a_parquet_file_is_a_bad_line(tmp_path: Path) -> None:
    broken = pyarrow.array([b"good", b"\xed\xa0\x80"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"source": broken, "target": ["a", "b"]}), tmp_path / "text.parquet")
    bad: list[BadLine] = []
    (block,) = Corpus(files=(str(tmp_path / "text.parquet"),)).blocks()
    assert list(block.pairs(bad.append)) == [("good", "a")]
    assert [(line.line, line.problem) for line in bad] == [(2, "invalid UTF-8 at byte 1")]


def test_parquet_files_that_will_not_do(tmp_path: Path) -> None:
    path = tmp_path / "text.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"source": ["a"], "target": [1]}), path)
    with pytest.raises(WeftError, match=r"needs two columns of text, .* are source \(string\), target \(int64\)"):
        list(Corpus(files=(str(path),)).blocks())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WeftError, match=r"text\.parquet: cannot be read"):
        list(Corpus(files=(str(path),)).blocks())
