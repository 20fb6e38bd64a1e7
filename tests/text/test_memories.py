"""Which two languages of a memory are read, in which order, and what blocks know of its lines."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from memory_files import pairs_of, tmx, tmx_of_pairs, write

from weft.errors import BadLine, WeftError
from weft.text import reading
from weft.text.reading import Corpus

GERMAN, ENGLISH, FRENCH = ("de-DE", "Haus"), ("EN_gb", "house"), ("fr", "maison")


@pytest.mark.parametrize(
    ("unit", "languages", "pair"),
    [
        ([GERMAN, ENGLISH], (), ("house", "Haus")),  # the header says that English is the source
        ([ENGLISH, GERMAN], ("de", "en"), ("Haus", "house")),
        ([GERMAN, ENGLISH, FRENCH], ("fr", "de"), ("maison", "Haus")),
        ([GERMAN, ENGLISH], ("EN-GB", "de_de"), ("house", "Haus")),
        ([GERMAN, FRENCH], (), ("Haus", "maison")),  # none of them is the header's
        ([("", "Haus"), ENGLISH], ("de", "en"), ("Haus", "house")),  # a file that does not say it
        ([("de", " "), GERMAN, ENGLISH], ("de", "en"), ("Haus", "house")),  # an empty segment is none
        ([("en", "lift"), ("en-US", "elevator")], ("en-US", "en"), ("elevator", "lift")),
        ([("pt-BR", "ônibus"), ("pt-PT", "autocarro")], (), ("ônibus", "autocarro")),
        ([GERMAN, ("de-AT", "Heim"), ENGLISH], ("de", "en"), ("Haus", "house")),  # the first of two
    ],
)
def test_languages(
    unit: list[tuple[str, str]], languages: tuple[str, ...], pair: tuple[str, str], tmp_path: Path
) -> None:
    assert pairs_of(write(tmp_path / "memory.tmx", tmx([unit])), *languages) == [pair]


def test_the_order_of_the_first_unit_is_that_of_all(tmp_path: Path) -> None:
    units = [[("fr", "un"), ("de", "eins")], [("de", "zwei"), ("fr-CA", "deux")], [("de-AT", "drei"), ("fr", "trois")]]
    name = write(tmp_path / "memory.tmx", tmx(units, 'srclang="*all*"'))
    assert pairs_of(name) == [("un", "eins"), ("deux", "zwei"), ("trois", "drei")]


def test_units_without_one_of_the_languages_are_left_out(tmp_path: Path) -> None:
    name = write(tmp_path / "memory.tmx", tmx([[GERMAN, ENGLISH], [FRENCH], [FRENCH, ENGLISH], [], [ENGLISH, GERMAN]]))
    assert pairs_of(name, "de", "en") == [("Haus", "house")] * 2


@pytest.mark.parametrize(
    ("units", "problem"),
    [
        ([[GERMAN, ENGLISH], [ENGLISH, FRENCH]], r"memory\.tmx:5: more than two languages \(EN_gb, de, fr\): say "),
        ([[ENGLISH, GERMAN, FRENCH]], r"memory\.tmx:4: more than two languages \("),
        ([[("zh-CN", "a"), ("zh-TW", "b"), ("en", "c")]], "more than two languages"),
        ([[ENGLISH], [GERMAN]], r"memory\.tmx: no entry has text in two languages; its languages: EN_gb, de-DE$"),
    ],
)
def test_who_has_more_or_fewer_than_two_languages_is_told(
    units: list[list[tuple[str, str]]], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(WeftError, match=problem):
        pairs_of(write(tmp_path / "memory.tmx", tmx(units)))


def test_languages_that_a_memory_does_not_have(tmp_path: Path) -> None:
    name = write(tmp_path / "memory.tmx", tmx([[GERMAN, ENGLISH], [ENGLISH, FRENCH]]))
    with pytest.raises(WeftError, match="no entry has both de and fr; its languages: EN_gb, de-DE, fr"):
        pairs_of(name, "de", "fr")


def test_a_memory_of_nothing_has_no_pairs(tmp_path: Path) -> None:
    assert pairs_of(write(tmp_path / "memory.tmx", tmx([]))) == []


def test_a_text_is_one_line(tmp_path: Path) -> None:
    name = write(tmp_path / "memory.tmx", tmx_of_pairs([("\n  one\ttwo\r\n three ", "a\u00a0b  c\u2028d")]))
    assert pairs_of(name) == [("one two three", "a\u00a0b c\u2028d")]


@pytest.mark.parametrize("ending", [".tmx", ".TMX", ".tmx.gz", ".tmx.xz", ".tmx.zst"])
def test_blocks_count_pairs_and_know_lines(ending: str, tmp_path: Path) -> None:
    compress = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}.get(ending[4:], bytes)
    units = [[("en", f"text {number}"), ("de", f"Text {number}" if number % 2 else "")] for number in range(10)]
    corpus = Corpus(files=(write(tmp_path / f"memory{ending}", compress(tmx(units).encode())),))
    blocks = list(corpus.blocks(2))
    assert [block.first_line for block in blocks] == [1, 3, 5]
    assert [block.places for block in blocks] == [[5, 7], [9, 11], [13]]
    assert [pair for block in blocks for pair in block.pairs()] == [(f"text {n}", f"Text {n}") for n in range(1, 10, 2)]
    assert sum(block.bytes_read for block in blocks) == corpus.size()
    (rest,) = corpus.blocks(lines=range(1, 3))
    assert (rest.first_line, rest.places) == (2, [7, 9]) and next(rest.pairs()) == ("text 3", "Text 3")
    assert corpus.count_lines() == 5


def test_a_bad_pair_is_named_by_its_line(tmp_path: Path) -> None:
    name = write(tmp_path / "memory.tmx", tmx_of_pairs([("a", "b"), ("a" * ((1 << 24) + 1), "b"), ("c", "d")]))
    bad: list[BadLine] = []
    found = [pair for block in Corpus(files=(name,)).blocks() for pair in block.pairs(bad.append)]
    assert found == [("a", "b"), ("c", "d")] and [str(one) for one in bad] == [f"{name}:5: longer than 16 MB"]


def test_blocks_of_long_texts_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BLOCK_BYTES", 10)
    name = write(tmp_path / "memory.tmx", tmx_of_pairs([("12345", "12345"), ("a", "b"), ("c", "d")]))
    assert [len(block.source) for block in Corpus(files=(name,)).blocks()] == [1, 2]


@pytest.mark.parametrize("name", ["memory.tmx", "text.po", "text.zip", "text.xlf.gz"])
def test_a_file_with_both_sides_is_no_side(name: str, tmp_path: Path) -> None:
    text, memory = write(tmp_path / "text.en", "a\n"), write(tmp_path / name, "")
    with pytest.raises(WeftError, match="holds both sides; give it alone"):
        Corpus(source=(text,), target=(memory,))


def test_the_form_can_be_told(tmp_path: Path) -> None:
    corpus = Corpus(files=(write(tmp_path / "columns.po", "a\tb\n"),), form="columns")
    assert [list(block.pairs()) for block in corpus.blocks()] == [[("a", "b")]]
