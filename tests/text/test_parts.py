"""Parts of a text: shards, and what is left after an interruption."""

from __future__ import annotations

import gzip
import json
import lzma
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from memory_files import tmx_of_pairs, write

from weft.errors import WeftError
from weft.text.reading import Corpus, Shard

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def written_forms(folder: Path, pairs: list[tuple[str, str]]) -> Iterator[Corpus]:
    """The same pairs in every form that weft reads."""
    columns = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    sides = ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
    for ending, compress in COMPRESS.items():
        yield Corpus(files=(write(folder / f"text.tsv{ending}", compress(columns)),))
        names = [write(folder / f"text.{side}{ending}", compress(lines)) for side, lines in enumerate(sides)]
        yield Corpus.of(names)
    yield Corpus(files=(write(folder / "cut.tsv", columns.removesuffix(b"\n")),))
    objects = (json.dumps({"source": source, "target": target}) for source, target in pairs)
    yield Corpus(files=(write(folder / "text.jsonl", "".join(f"{one}\n" for one in objects)),))
    yield Corpus(files=(write(folder / "text.tmx", tmx_of_pairs(pairs)),))
    with zipfile.ZipFile(folder / "text.zip", "w") as archive:
        for language, lines in zip(("de", "en"), sides, strict=True):
            archive.writestr(f"text.de-en.{language}", lines)
    yield Corpus(files=(str(folder / "text.zip"),))
    table = pyarrow.table({name: [pair[side] for pair in pairs] for side, name in enumerate(("source", "target"))})
    pyarrow.parquet.write_table(table, folder / "text.parquet", row_group_size=7)
    yield Corpus(files=(str(folder / "text.parquet"),))


def test_parts_of_every_form_make_up_the_whole(tmp_path: Path) -> None:
    pairs = [(f"{'ä' * (number * 7919 % 500)} {number}".strip(), f"one {number}") for number in range(100)]
    for corpus in written_forms(tmp_path, pairs):
        assert corpus.count_lines() == 100, corpus
        for count in (1, 3, 8, 150):
            parts = [Shard(number, count).lines(100) for number in range(1, count + 1)]
            blocks = [list(corpus.blocks(9, part)) for part in parts]
            assert [pair for part in blocks for block in part for pair in block.pairs()] == pairs, corpus
            starts = [part[0].first_line for part in blocks if part]
            assert starts == [part.start + 1 for part in parts if part]
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
            cuts = [corpus.cut(Shard(number, count)) for number in range(1, count + 1)]
            found = [(text, block) for text, lines in cuts for block in text.blocks(9, lines)]
            assert [pair for _, block in found for pair in block.pairs()] == pairs, corpus
            assert all(pairs[text.lines_before() + block.first_line - 1] == block.pair(0) for text, block in found)
            is_plain = corpus.files and corpus.files[0].endswith((".tsv", ".jsonl"))
            assert all((text.span is not None) == bool(is_plain) for text, _ in cuts)
        assert sum(block.bytes_read for block in corpus.blocks(9)) in (0, corpus.size())


def test_plain_files_are_cut_by_bytes(tmp_path: Path) -> None:
    corpus = Corpus(files=(write(tmp_path / "text.tsv", b"a\tb\n" * 3 + b"\xef\xbb\xbfc\td" * 3),))  # 12 + 18 bytes
    for count, spans in {
        1: [(0, 30)],
        2: [(0, 30), (30, 30)],
        5: [(0, 8), (8, 12), (12, 30), (30, 30), (30, 30)],
    }.items():
        cuts = [corpus.cut(Shard(number, count))[0].span for number in range(1, count + 1)]
        assert cuts == [range(*span) for span in spans]
    (block,) = corpus.cut(Shard(3, 5))[0].blocks()
    assert block.source == [b"\xef\xbb\xbfc\td" * 3]  # no mark of a file's start, which this is not
    empty = Corpus(files=(write(tmp_path / "empty.tsv", b""),))
    assert empty.cut(Shard(2, 3))[0].span == range(0)


def test_a_part_of_a_plain_file_is_found_without_reading_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "large.tsv"
    with path.open("wb") as file:  # a hole of a terabyte
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write(b"\na\tb\n" * 3)
    text, lines = Corpus(files=(str(path),)).cut(Shard(1 << 37, 1 << 37))
    assert [list(block.pairs()) for block in text.blocks(lines=lines)] == [[("a", "b"), ("", ""), ("a", "b")]]


def test_skipped_lines_are_not_looked_at(tmp_path: Path) -> None:
    long = b"x" * ((1 << 24) + 1)
    name = write(tmp_path / "text.tsv", b"\xef\xbb\xbfbad\n\xff\n" + long + b"\na\tb")
    corpus = Corpus(files=(name,))
    assert corpus.count_lines() == 4
    (block,) = corpus.blocks(lines=range(3, 4))
    assert (block.first_line, list(block.pairs())) == (4, [("a", "b")])
    with pytest.raises(WeftError, match=r"text\.tsv: ends before line 5, after which to begin"):
        list(corpus.blocks(lines=range(5, 6)))


def test_lines_that_cannot_be_counted(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="stdin: the lines of a stream cannot be counted"):
        Corpus(files=("-",)).count_lines()
    names = [write(tmp_path / name, "a\n" * lines) for name, lines in (("text.de", 3), ("text.en", 1_002))]
    with pytest.raises(WeftError, match=r"text\.de has 3 lines but .*text\.en has 1,002;"):
        Corpus.of(names).count_lines()
    name = write(tmp_path / "text.gz", gzip.compress(b"a\tb\n" * 1_000)[:-9])
    with pytest.raises(WeftError, match=r"text\.gz: cannot be read to its end"):
        Corpus.of([name]).count_lines()


@pytest.mark.parametrize("text", ["", "3", "0/8", "9/8", "1/0", "1/8/9", "-1/8", "a/b", "1.5/8", "٣/٨"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(WeftError, match="a shard is one of 1/8 to 8/8, say, not"):
        Shard.parse(text)
