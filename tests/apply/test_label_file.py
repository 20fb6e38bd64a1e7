"""Units of files with labels: lines and sentences, with translations beside them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.apply import label_file
from weft.apply.conllu import ConlluSentence
from weft.apply.label_file import Unit, read_blocks
from weft.apply.tagged_tokens import TaggedTokens
from weft.errors import BadLine, WeftError

HasToken = Callable[[str], bool] | None


def units(folder: Path, text: bytes, target: bytes | None, has_token: HasToken = TaggedTokens.has_token) -> list[Unit]:
    file, other = folder / "labels", folder / "other"
    file.write_bytes(text)
    other.write_bytes(target or b"")
    blocks = read_blocks(str(file), str(other) if target is not None else "", has_token)
    return [unit._replace(file="") for block in blocks for unit in block.decoded()]


def test_sentences_between_blank_lines(tmp_path: Path) -> None:
    text = b"\n\na O\nb O\n \n\n\nc O"
    assert units(tmp_path, text, b"x y\nz\n") == [Unit("", 3, "a O\nb O", "x y"), Unit("", 8, "c O", "z")]


def test_what_has_no_token_goes_with_the_next_sentence(tmp_path: Path) -> None:
    text = b"-DOCSTART- O\n\n# a comment\na O\n\n# the end\n"
    assert units(tmp_path, text, b"x") == [Unit("", 1, "-DOCSTART- O\n\n# a comment\na O", "x")]
    assert units(tmp_path, b"# global\n\n# text\n1\ta", b"x", ConlluSentence.has_token)[0].line == 1


def test_lines(tmp_path: Path) -> None:
    assert units(tmp_path, b"{}\n\n", None, None) == [Unit("", 1, "{}", None), Unit("", 2, "", None)]


def test_windows_line_ends_and_compressed_files(tmp_path: Path) -> None:
    assert units(tmp_path, b"a O\r\nb O\r\n\r\nc O\r\n", b"x\r\ny\r\n") == [
        Unit("", 1, "a O\nb O", "x"),
        Unit("", 4, "c O", "y"),
    ]
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"{}"))
    (block,) = read_blocks(str(tmp_path / "a.gz"), "", None)
    assert next(block.decoded()).text == "{}"


def test_many_sentences_make_several_blocks(tmp_path: Path) -> None:
    file = tmp_path / "labels"
    file.write_bytes(b"a O\n\n" * 4_100)
    blocks = list(read_blocks(str(file), "", TaggedTokens.has_token))
    assert [len(block.units) for block in blocks] == [2_000, 2_000, 100]
    assert sum(block.bytes_read for block in blocks) == file.stat().st_size
    assert blocks[1].units[0] == (4_001, b"a O")


def test_different_numbers_of_sentences_and_lines(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"has 2 sentences but .*other has 1"):
        units(tmp_path, b"a O\n\nb O\n", b"x\n")


def test_a_sentence_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_file, "_MOST_BYTES", 1 << 20)
    with pytest.raises(WeftError, match="labels:1: a sentence of more than 1 MB"):
        units(tmp_path, b"a O\n" * (1 << 19), b"x")


def test_bad_bytes_are_named_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(BadLine) as error:
        units(tmp_path, b"a O\n\nb O\n\xff O\n", b"x\ny\n")
    assert error.value.line == 4
    with pytest.raises(BadLine) as error:
        units(tmp_path, b"a O\n\nb O\n", b"x\n\xff\n")
    assert (error.value.line, Path(error.value.file).name) == (2, "other")


def test_stdin_twice() -> None:
    with pytest.raises(WeftError, match="only once"):
        next(read_blocks("-", "-", None))
