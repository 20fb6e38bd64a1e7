"""Folders of lexicons: complete, or as before."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from given_words import aligned

from weft.apply.block_counts import BlockCounts, count_block
from weft.apply.dictionaries import Least
from weft.apply.lexicon_folder import LexiconSettings, write_lexicon
from weft.errors import WeftError
from weft.text import counting, record_files, sorted_lines

PAIRS = [aligned("das Haus", "the house", "0-0 1-1"), aligned("Haus", "home", "0-0")]
HEAD = "source\ttarget\tcount\tp(target|source)\tp(source|target)\tline\tsource text\ttarget text\n"


def blocks(settings: LexiconSettings) -> Iterator[BlockCounts]:
    yield count_block(PAIRS, 1, settings.counted_words)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_of_all_formats(tmp_path: Path) -> None:
    settings = LexiconSettings(("lex", "dictionary", "tbx"), ("de", "en"))
    write_lexicon(tmp_path / "lexicon", blocks(settings), settings)
    assert names(tmp_path) == ["lexicon"]
    assert names(tmp_path / "lexicon") == ["dictionary.tbx", "dictionary.tsv", "lex.s2t", "lex.t2s"]
    assert (tmp_path / "lexicon" / "dictionary.tsv").read_text("utf-8") == (
        HEAD
        + "das\tthe\t1\t1.0000\t1.0000\t1\tdas Haus\tthe house\n"
        + "Haus\thome\t1\t0.5000\t1.0000\t2\tHaus\thome\n"
        + "Haus\thouse\t1\t0.5000\t1.0000\t1\tdas Haus\tthe house\n"
    )
    assert (tmp_path / "lexicon" / "dictionary.tbx").read_text("utf-8").count("<conceptEntry") == 2
    assert "home Haus 0.5000000\n" in (tmp_path / "lexicon" / "lex.s2t").read_text("utf-8")


@pytest.mark.parametrize(("formats", "files"), [(("lex",), ["lex.s2t", "lex.t2s"]), (("tbx",), ["dictionary.tbx"])])
def test_one_format(formats: tuple, files: list[str], tmp_path: Path) -> None:
    settings = LexiconSettings(formats, ("de", "en"))
    write_lexicon(tmp_path / "lexicon", blocks(settings), settings)
    assert names(tmp_path / "lexicon") == files


def test_an_older_lexicon_is_replaced_and_other_files_are_not(tmp_path: Path) -> None:
    folder, settings = tmp_path / "lexicon", LexiconSettings()
    for _ in range(2):
        write_lexicon(folder, blocks(settings), settings)
    before = (folder / "lex.s2t").read_bytes()

    def broken() -> Iterator[BlockCounts]:
        yield from blocks(settings)
        raise WeftError("a bad line")

    with pytest.raises(WeftError, match="a bad line"):
        write_lexicon(folder, broken(), LexiconSettings(("lex",)))
    assert names(tmp_path) == ["lexicon"] and (folder / "lex.s2t").read_bytes() == before
    assert len(names(folder)) == 3
    (folder / "thesis.odt").touch()
    with pytest.raises(WeftError, match=r"has other files, such as thesis.odt"):
        write_lexicon(folder, blocks(settings), settings)
    assert "thesis.odt" in names(folder)


@pytest.mark.parametrize(
    ("problem", "settings"),
    [
        ("without a format", {"formats": ()}),
        ("give their codes", {"formats": ("tbx",)}),
        ("not the code of a language", {"formats": ("tbx",), "languages": ("de", "?")}),
        ("1 to 20 words, not 0", {"longest": 0}),
        ("1 to 20 words, not 21", {"longest": 21}),
    ],
)
def test_settings_are_checked(problem: str, settings: dict) -> None:
    with pytest.raises(WeftError, match=problem):
        LexiconSettings(**settings)


def test_phrases_are_counted_if_they_are_needed() -> None:
    assert LexiconSettings(("lex",)).counted_words == 0
    assert LexiconSettings(longest=3, least=Least(count=2)).counted_words == 3


def test_memory_does_not_grow_with_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (counting, sorted_lines):
        monkeypatch.setattr(module, "_HELD_BYTES", 200_000)
    monkeypatch.setattr(record_files, "READ_BYTES", 100_000)

    def random_blocks(count: int) -> Iterator[BlockCounts]:
        generator = random.Random(1)
        for number in range(count):
            lines = [" ".join(f"w{generator.randrange(300)}" for _ in range(8)) for _ in range(50)]
            links = " ".join(f"{word}-{generator.randrange(8)}" for word in range(8))
            yield count_block([aligned(line, line, links) for line in lines], 50 * number, 3)

    settings = LexiconSettings(("lex", "dictionary", "tbx"), ("de", "en"))
    peaks = []
    for count in (10, 20, 80):  # the first fills what is remembered of words
        tracemalloc.start()
        write_lexicon(tmp_path / f"lexicon-{count}", random_blocks(count), settings)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    sizes = [(tmp_path / f"lexicon-{count}" / "lex.s2t").stat().st_size for count in (20, 80)]
    assert sizes[1] > 2.5 * sizes[0]
    assert peaks[2] < 1.3 * peaks[1], peaks
