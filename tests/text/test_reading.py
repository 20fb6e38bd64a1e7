"""Sentence pairs from files of every kind, and errors that name the file and the line."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from weft.errors import BadLine, WeftError
from weft.text import reading as corpus_module
from weft.text.reading import Corpus, kind_of

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def pairs_of(corpus: Corpus) -> list[tuple[str, str]]:
    return [pair for block in corpus.blocks() for pair in block.pairs()]


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def set_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


# -- formats -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", list(COMPRESS))
def test_tab_separated_columns(ending: str, tmp_path: Path) -> None:
    name = write(tmp_path / f"text.tsv{ending}", COMPRESS[ending](b"one\teins\nzwei drei\ttwo ||| three\n"))
    assert pairs_of(Corpus(files=(name,))) == [("one", "eins"), ("zwei drei", "two ||| three")]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_compressed_parts_one_after_the_other(ending: str, tmp_path: Path) -> None:
    parts = [COMPRESS[ending](f"{number}\tone\n".encode()) for number in range(3)]
    name = write(tmp_path / f"text.tsv{ending}", b"".join(parts))
    assert pairs_of(Corpus(files=(name,))) == [("0", "one"), ("1", "one"), ("2", "one")]


def test_bars_separate_columns_where_there_is_no_tab(tmp_path: Path) -> None:
    name = write(tmp_path / "text", "one two ||| eins zwei\n")
    assert pairs_of(Corpus(files=(name,))) == [("one two ", " eins zwei")]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    assert pairs_of(Corpus(files=(write(tmp_path / "text", "a\tb\nc\td"),))) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("ending", list(COMPRESS))
def test_two_files_side_by_side(ending: str, tmp_path: Path) -> None:
    source = write(tmp_path / f"text.en{ending}", COMPRESS[ending](b"one\ttwo\nthree ||| four\n"))
    target = write(tmp_path / "text.de", "eins\nzwei\n")
    corpus = Corpus(source=(source,), target=(target,))
    assert pairs_of(corpus) == [("one\ttwo", "eins"), ("three ||| four", "zwei")]


def test_many_shards_keep_their_order_and_their_own_line_numbers(tmp_path: Path) -> None:
    names = tuple(write(tmp_path / f"{part}.tsv", f"{part} a\tx\n{part} b\ty\n") for part in range(3))
    corpus = Corpus(files=names)
    assert [source for source, _ in pairs_of(corpus)] == ["0 a", "0 b", "1 a", "1 b", "2 a", "2 b"]
    assert [(block.file, block.first_line) for block in corpus.blocks()] == [(name, 1) for name in names]


def test_many_shards_of_two_files(tmp_path: Path) -> None:
    source = tuple(write(tmp_path / f"{part}.en", f"en {part}\n") for part in range(3))
    target = tuple(write(tmp_path / f"{part}.de", f"de {part}\n") for part in range(3))
    assert pairs_of(Corpus(source=source, target=target)) == [(f"en {part}", f"de {part}") for part in range(3)]


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    set_stdin(monkeypatch, "größer\tbigger\n".encode())
    assert pairs_of(Corpus(files=("-",))) == [("größer", "bigger")]


def test_stdin_as_one_of_two_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_stdin(monkeypatch, b"eins\nzwei\n")
    corpus = Corpus(source=(write(tmp_path / "text.en", "one\ntwo\n"),), target=("-",))
    assert pairs_of(corpus) == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("line", ["", " ", "\t", " \t ", "\r"])
def test_an_empty_line_is_an_empty_pair(line: str, tmp_path: Path) -> None:
    (pair,) = pairs_of(Corpus(files=(write(tmp_path / "text.tsv", f"{line}\n"),)))
    assert [side.strip() for side in pair] == ["", ""]


def test_an_empty_file_has_no_pairs(tmp_path: Path) -> None:
    assert pairs_of(Corpus(files=(write(tmp_path / "text.tsv", ""),))) == []


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\r"])
def test_lines_end_at_line_feeds_only(character: str, tmp_path: Path) -> None:
    name = write(tmp_path / "text.tsv", f"one{character}two\tthree\nfour\tfive{character}\n")
    assert pairs_of(Corpus(files=(name,))) == [(f"one{character}two", "three"), ("four", f"five{character}")]


@pytest.mark.parametrize("ending", list(COMPRESS))
def test_blocks_have_bounded_length_and_account_for_every_byte(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", 4)
    name = write(tmp_path / f"text.tsv{ending}", COMPRESS[ending](b"a\tb\n" * 10))
    corpus = Corpus(files=(name,))
    blocks = list(corpus.blocks())
    assert [(block.first_line, len(block.source)) for block in blocks] == [(1, 4), (5, 4), (9, 2)]
    assert sum(block.bytes_read for block in blocks) == corpus.size() == Path(name).stat().st_size


# -- bad lines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"ab\xffc\tx", "invalid UTF-8 at byte 3"),
        (b"\xed\xa0\x80\tx", "invalid UTF-8 at byte 1"),
        (b"only one", "found one"),
        (b"a\tb\tc", "found 3 tab-separated columns"),
        (b"a ||| b ||| c", "found 3 columns separated by |||"),
    ],
)
def test_a_bad_line_is_named(line: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", 2)
    name = write(tmp_path / "text.tsv", b"a\tb\n\nc\td\n" + line + b"\ne\tf\n")
    with pytest.raises(BadLine) as caught:
        pairs_of(Corpus(files=(name,)))
    assert (caught.value.file, caught.value.line) == (name, 4)
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"{name}:4: ")


def test_bad_lines_can_be_skipped(tmp_path: Path) -> None:
    name = write(tmp_path / "text.tsv", b"a\tb\n\xff\t\nbad\nc\td\n")
    bad: list[BadLine] = []
    (block,) = Corpus(files=(name,)).blocks()
    assert list(block.pairs(bad.append)) == [("a", "b"), ("c", "d")]
    assert [line.line for line in bad] == [2, 3]


def test_a_bad_line_of_two_files_names_the_file_it_stands_in(tmp_path: Path) -> None:
    source, target = write(tmp_path / "text.en", "a\nb\n"), write(tmp_path / "text.de", b"c\n\xff\n")
    with pytest.raises(BadLine) as caught:
        pairs_of(Corpus(source=(source,), target=(target,)))
    assert (caught.value.file, caught.value.line) == (target, 2)


def test_a_bad_line_of_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    set_stdin(monkeypatch, b"a\tb\nbad\n")
    with pytest.raises(BadLine, match="stdin:2: expected two columns"):
        pairs_of(Corpus(files=("-",)))


def test_a_line_of_more_than_16_megabytes_is_bad_and_the_next_one_is_read(tmp_path: Path) -> None:
    longest = b"a\t" + b"b" * ((1 << 24) - 2)
    name = write(tmp_path / "text.tsv", longest + b"\n" + longest + b"c\n" + b"\0" * (1 << 26) + b"\nd\te\n")
    bad: list[BadLine] = []
    found = [pair for block in Corpus(files=(name,)).blocks() for pair in block.pairs(bad.append)]
    assert [(source, len(target)) for source, target in found] == [("a", (1 << 24) - 2), ("d", 1)]
    assert [str(line) for line in bad] == [f"{name}:{number}: longer than 16 MB" for number in (2, 3)]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_bomb_takes_little_memory(ending: str, tmp_path: Path) -> None:
    """A compressed line of 1 GB between two good ones, read with less than that."""
    zeros = COMPRESS[ending](bytes(1 << 26)) * 16  # parts one after the other
    content = COMPRESS[ending](b"a\tb\n") + zeros + COMPRESS[ending](b"\nc\td\n")
    name = write(tmp_path / f"text.tsv{ending}", content)
    code = (
        "import resource, sys\nfrom weft.text.reading import Corpus\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
        "bad = []\n"
        "print([pair for block in Corpus(files=(sys.argv[1],)).blocks() for pair in block.pairs(bad.append)], len(bad))"
    )
    result = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
    assert result.stdout == "[('a', 'b'), ('c', 'd')] 1\n", result.stderr


def test_blocks_end_after_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_BYTES", 10)
    name = write(tmp_path / "text.tsv", "1234\t6789\n" * 2 + "a\tb\n" * 4)
    blocks = list(Corpus(files=(name,)).blocks())
    assert [(block.first_line, len(block.source)) for block in blocks] == [(1, 2), (3, 4)]


# -- JSONL -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", list(COMPRESS))
def test_json_lines(ending: str, tmp_path: Path) -> None:
    lines = '{"source": "größer", "target": "a\\tb"}\n{"target": {"text": "y"}, "source": {"text": "\\ud83d\\ude00"}}\n'
    name = write(tmp_path / f"text.jsonl{ending}", COMPRESS[ending](lines.encode()))
    assert pairs_of(Corpus(files=(name,))) == [("größer", "a\tb"), ("😀", "y")]


def test_rows_of_data_sets(tmp_path: Path) -> None:
    rows = [{"de": "das Haus", "en-US": "the house"}, {"de": "ja", "en-US": "yes"}]
    lines = "".join(json.dumps({"id": 1, "translation": row}) + "\n" for row in rows)
    parquet = str(tmp_path / "text.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2], "translation": rows}), parquet)
    for name in (write(tmp_path / "text.jsonl", lines), parquet):
        assert pairs_of(Corpus(files=(name,))) == [("das Haus", "the house"), ("ja", "yes")]
        turned = Corpus(files=(name,), languages=("en", "de"))
        assert pairs_of(turned) == [("the house", "das Haus"), ("yes", "ja")]
        with pytest.raises(WeftError, match="its languages are de, en-US: say which two to read with --languages"):
            pairs_of(Corpus(files=(name,), languages=("en", "fr")))


@pytest.mark.parametrize("name", ["my.jsonl.tsv", "my.jsonl.d", "my.jsonl.tsv.gz"])
def test_only_the_last_ending_tells_the_form(name: str, tmp_path: Path) -> None:
    content = b"one\teins\n"
    file = write(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    assert pairs_of(Corpus(files=(file,))) == [("one", "eins")]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.TSV.GZ", ".tsv"),
        ("job.en.sdlxliff", ".xliff"),
        ("job.mqxliff.zst", ".xliff"),
        ("job.XLF", ".xlf"),
        ("folder.tmx/text", ""),
        ("text.gz", ""),
    ],
)
def test_the_kind_of_a_file(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_endings_may_be_in_capitals(tmp_path: Path) -> None:
    name = write(tmp_path / "TEXT.JSONL.GZ", gzip.compress(b'{"source": "a", "target": "b"}\n'))
    assert pairs_of(Corpus(files=(name,))) == [("a", "b")]


def test_a_file_with_both_sides_is_no_single_side(tmp_path: Path) -> None:
    name = write(tmp_path / "text.jsonl", '{"source": "a", "target": "b"}\n')
    with pytest.raises(WeftError, match=r"text\.jsonl: holds both sides; give it alone"):
        Corpus.of([name, name])


def test_two_languages_make_a_pair(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="a pair has two different languages, not de twice"):
        Corpus.of([write(tmp_path / "text.tmx", "")], languages=("de", "de"))


def test_the_form_can_be_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    set_stdin(monkeypatch, b'{"source": "a", "target": "b"}\n')
    assert pairs_of(Corpus(files=("-",), form="jsonl")) == [("a", "b")]
    name = write(tmp_path / "text.jsonl", "{ a\tb }\n")
    assert pairs_of(Corpus(files=(name,), form="columns")) == [("{ a", "b }")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"source": "\\ud800", "target": "x"}', "half a surrogate pair"),
        ('{"source": "x", "target": {"text": "a\\udfffb"}}', "half a surrogate pair"),
        ("[" * 100_000, "expected an object"),
        ('{"source": ' * 100_000, "expected an object"),
        ('{"source": "x"}', "expected an object"),
        ('["source", "target"]', "expected an object"),
        ('{"source": "x", "target": 1}', "must be text"),
        ('{"translation": {"de": "x", "en": null}}', "must be text"),
        ('{"translation": {"de": "x", "en": "y", "fr": "z"}}', "its languages are de, en, fr: say which two"),
        ('{"translation": ["x", "y"]}', "expected an object"),
        ("", "expected an object"),
    ],
    ids=[
        *("surrogate", "surrogate in an object", "brackets", "braces", "one side", "list", "number"),
        *("nothing in a language", "three languages", "list of languages", "empty"),
    ],
)
def test_a_bad_object_is_a_bad_line(line: str, problem: str, tmp_path: Path) -> None:
    name = write(tmp_path / "text.jsonl", '{"source": "a", "target": "b"}\n' + line + "\n")
    with pytest.raises(BadLine) as caught:
        pairs_of(Corpus(files=(name,)))
    assert caught.value.line == 2 and problem in caught.value.problem


# -- bad files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block_lines", [1, 2, 3, 1000])
@pytest.mark.parametrize(("source_lines", "target_lines"), [(5, 3), (3, 5), (0, 1), (1234, 6)])
def test_files_of_different_length(
    source_lines: int, target_lines: int, block_lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_module, "_BLOCK_LINES", block_lines)
    source = write(tmp_path / "text.en", "a\n" * source_lines)
    target = write(tmp_path / "text.de", "b\n" * target_lines)
    with pytest.raises(WeftError) as caught:
        pairs_of(Corpus(source=(source,), target=(target,)))
    assert f"{source} has {source_lines:,} lines but {target} has {target_lines:,};" in str(caught.value)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_truncated_file_is_named(ending: str, share: float, tmp_path: Path) -> None:
    whole = COMPRESS[ending]("".join(f"{number * 7919 % 104729}\t{number}\n" for number in range(5_000)).encode())
    name = write(tmp_path / f"text.tsv{ending}", whole[: int(share * len(whole))])
    with pytest.raises(WeftError) as caught:
        pairs_of(Corpus(files=(name,)))
    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_what_follows_compressed_text_is_not_lost(ending: str, tmp_path: Path) -> None:
    """A damaged second part is an error, not the end; zeros, as tapes have them, are nothing."""
    first, second = (COMPRESS[ending](f"{number}\tone\n".encode()) for number in (1, 2))
    name = write(tmp_path / f"text.tsv{ending}", first + b"\0" * 3_000 + second + b"\0" * 512)
    assert pairs_of(Corpus(files=(name,))) == [("1", "one"), ("2", "one")]
    for rubbish in (b"rubbish", b"\xff" + second[1:], second[:-1]):
        name = write(tmp_path / f"text.tsv{ending}", first + rubbish)
        with pytest.raises(WeftError, match=r"text\.tsv.*: cannot be read to its end: it is (damaged|cut off)"):
            pairs_of(Corpus(files=(name,)))


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_compressed_file_without_a_byte_is_cut_off(ending: str, tmp_path: Path) -> None:
    name = write(tmp_path / f"text.tsv{ending}", b"")
    with pytest.raises(WeftError, match="it is cut off"):
        pairs_of(Corpus(files=(name,)))
    name = write(tmp_path / f"text.tsv{ending}", COMPRESS[ending](b""))
    assert pairs_of(Corpus(files=(name,))) == []


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_a_file_that_is_not_compressed_is_named(ending: str, tmp_path: Path) -> None:
    name = write(tmp_path / f"text.tsv{ending}", "one\teins\n" * 100)
    with pytest.raises(WeftError) as caught:
        pairs_of(Corpus(files=(name,)))
    assert str(caught.value).startswith(f"{name}: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.tsv")
    with pytest.raises(WeftError, match=r"missing\.tsv: no such file"):
        Corpus(files=(missing,))
    with pytest.raises(WeftError, match=r"missing\.tsv: no such file"):
        Corpus(source=(write(tmp_path / "text.en", ""),), target=(missing,))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="is a folder"):
        Corpus(files=(str(tmp_path),))


def test_a_file_that_disappears_is_named(tmp_path: Path) -> None:
    corpus = Corpus(files=(write(tmp_path / "text.tsv", "a\tb\n"),))
    (tmp_path / "text.tsv").unlink()
    with pytest.raises(WeftError, match=r"text\.tsv: No such file"):
        pairs_of(corpus)


def test_as_many_source_as_target_files(tmp_path: Path) -> None:
    names = tuple(write(tmp_path / name, "") for name in ("a", "b", "c"))
    with pytest.raises(WeftError, match="2 source files but 1 target files"):
        Corpus(source=names[:2], target=names[2:])


def test_either_both_sides_in_one_file_or_two_files(tmp_path: Path) -> None:
    name = write(tmp_path / "text", "")
    with pytest.raises(WeftError, match="either"):
        Corpus(files=(name,), source=(name,), target=(name,))
    with pytest.raises(WeftError, match="either"):
        Corpus()


def test_stdin_cannot_be_both_sides() -> None:
    with pytest.raises(WeftError, match="only once"):
        Corpus(source=("-",), target=("-",))


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_bytes("\ufeffa\tb\nc\td\n".encode())
    blocks = Corpus(files=(str(tmp_path / "text.tsv"),)).blocks()
    assert [pair for block in blocks for pair in block.pairs()] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_and_32_are_refused(mark: str, tmp_path: Path) -> None:
    name = write(tmp_path / "text.tsv", "\ufeffeins\tone\n".encode(mark))
    wanted = rf"text\.tsv: is {mark[:6].upper()}; convert it to UTF-8 .iconv -f {mark[:6]} "
    with pytest.raises(WeftError, match=wanted):
        pairs_of(Corpus(files=(name,)))


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a\tb\n",))
    writer.start()
    corpus = Corpus(files=(str(tmp_path / "pipe"),))
    assert [block.source for block in corpus.blocks()] == [[b"a\tb"]]
    writer.join()
