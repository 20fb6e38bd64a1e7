"""Sentence pairs from files: TSV, ``source ||| target``, JSONL, Parquet, translation memories, two files side by side.

Lines are read as bytes, end at ``\\n`` only, and travel in blocks that know their file and line number, so that a block
can be worked on in another process and an error there still names the line. A line of more than 16 MB is a bad line,
and a block ends after 64 MB, so that memory stays bounded whatever a file holds.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from weft.errors import BadLine, WeftError
from weft.text.archives import open_archive
from weft.text.catalogues import catalogue_entries
from weft.text.memories import Entry, memory_pairs
from weft.text.streams import LONGEST_LINE, TOO_LONG, Input, Lines, open_input, shown
from weft.text.xml_memories import tmx_entries, xliff_entries

Form = Literal["auto", "columns", "jsonl"]
"""How a line holds a pair: in two columns or as a JSON object; ``auto``: what the file's name says."""
Item = TypeVar("Item")
Row = TypeVar("Row", bound=tuple)

_BLOCK_LINES = 10_000
_BLOCK_BYTES = 1 << 26

_MEMORIES: dict[str, Callable[[Input], Iterator[Entry]]] = {
    ".tmx": tmx_entries,
    ".xlf": xliff_entries,
    ".xliff": xliff_entries,
    ".po": catalogue_entries,
}


@dataclass(frozen=True)
class Block:
    """Consecutive raw lines, or pairs of a memory. ``target`` is None if each line holds both sides."""

    file: str
    first_line: int  # counted from one; in a memory, the number of its first pair
    source: list[bytes]
    target: list[bytes] | None = None
    target_file: str = ""
    bytes_read: int = 0  # of the file on disk while this block was read, for progress
    jsonl: bool = False  # lines with both sides are JSON objects
    places: list[int] | None = None  # of a memory: the line of the file where each pair begins

    def pairs(self, on_bad: Callable[[BadLine], None] | None = None) -> Iterator[tuple[str, str]]:
        """Yield the sentence pairs. Bad lines go to ``on_bad`` and are left out, or are raised if there is none."""
        for index in range(len(self.source)):
            try:
                yield self.pair(index)
            except BadLine as bad:
                if on_bad is None:
                    raise
                on_bad(bad)

    def pair(self, index: int) -> tuple[str, str]:
        """Return one sentence pair. Raises BadLine."""
        number = self.line(index)
        source = decode_line(self.source[index], self.file, number)
        if self.target is None:
            return (_json_pair if self.jsonl else _split_columns)(source, self.file, number)
        return source, decode_line(self.target[index], self.target_file, number)

    def line(self, index: int) -> int:
        """Return the number of a pair's line in the file."""
        return self.first_line + index if self.places is None else self.places[index]

    def without_first(self, lines: int) -> Block:
        """Return the block without its first lines."""
        if lines == 0:
            return self
        target = None if self.target is None else self.target[lines:]
        places = None if self.places is None else self.places[lines:]
        first = self.first_line + lines
        return replace(self, first_line=first, source=self.source[lines:], target=target, places=places)


@dataclass(frozen=True)
class Corpus:
    """Where parallel text comes from: files with both sides, or pairs of files; ``-`` is stdin."""

    files: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    form: Form = "auto"
    """Of files with both sides; stdin, which has no name, is taken for columns unless this says otherwise."""
    languages: tuple[str, ...] = ()
    """Codes of the source and the target language, to find them in memories; () if these have no others."""

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise WeftError(f"{len(self.source)} source files but {len(self.target)} target files: give one for one")
        if bool(self.files) == bool(self.source):
            raise WeftError("give parallel text either as files with both sides or as source files and target files")
        if (self.files + self.source + self.target).count("-") > 1:
            raise WeftError("stdin (-) can be read only once")
        for name in self.files + self.source + self.target:
            if name != "-" and Path(name).is_dir():
                raise WeftError(f"{name}: is a folder; give a file")
            if name != "-" and not Path(name).exists():
                raise WeftError(f"{name}: no such file")
        for name in self.source + self.target:
            if _kind(name) in {".zip", ".parquet", *_MEMORIES}:
                raise WeftError(f"{name}: holds both sides; give it alone")

    @classmethod
    def of(cls, files: Sequence[str], form: Form = "auto", languages: tuple[str, ...] = ()) -> Corpus:
        """Return the text of one file with both sides, or of two, source and target."""
        if len(files) == 2:
            return cls(source=(files[0],), target=(files[1],))
        return cls(files=tuple(files), form=form, languages=languages)

    def size(self) -> int:
        """Return the bytes on disk (0 for stdin and pipes), to measure progress by."""
        return sum(Path(name).stat().st_size for name in self.files + self.source + self.target if name != "-")

    def blocks(self, size: int = 0) -> Iterator[Block]:
        """Yield all lines, in order, in blocks of at most ``size`` lines (0: a size that suits bulk work)."""
        size = size or _BLOCK_LINES
        for name in self.files:
            kind = _kind(name) if self.form == "auto" else f".{self.form}"
            if kind == ".parquet":
                yield from _parquet_blocks(name, size)
            elif kind == ".zip":
                with open_archive(name, self.languages) as (one, other):
                    yield from _blocks_of_two(Lines(one), Lines(other), size)
            elif kind in _MEMORIES:
                yield from _memory_blocks(name, _MEMORIES[kind], self.languages, size)
            else:
                yield from _blocks_of_one(name, size, jsonl=kind == ".jsonl")
        for source, target in zip(self.source, self.target, strict=True):
            with open_lines(source) as source_lines, open_lines(target) as target_lines:
                yield from _blocks_of_two(source_lines, target_lines, size)


def _kind(name: str) -> str:
    """Return the last ending, or the one before that of a compressed file: ``my.jsonl.tsv`` is TSV."""
    for ending in (".gz", ".xz", ".zst"):
        name = name.removesuffix(ending)
    return Path(name).suffix.lower()


def _blocks_of_one(name: str, size: int, jsonl: bool) -> Iterator[Block]:
    with open_lines(name) as lines:
        first = 1
        for rows in _chunks(zip(lines, strict=True), size):
            both = [line for (line,) in rows]
            yield Block(lines.name, first, both, bytes_read=lines.bytes_read(), jsonl=jsonl)
            first += len(rows)


def _blocks_of_two(source: Lines, target: Lines, size: int) -> Iterator[Block]:
    first = 1
    for rows in _chunks(side_by_side((source.name, target.name), (source, target)), size):
        sources, targets = map(list, zip(*rows, strict=True))
        yield Block(source.name, first, sources, targets, target.name, source.bytes_read() + target.bytes_read())
        first += len(rows)


def _memory_blocks(
    name: str, read: Callable[[Input], Iterator[Entry]], languages: tuple[str, ...], size: int
) -> Iterator[Block]:
    with open_input(name) as file:
        first = 1
        for pairs in _chunks(memory_pairs(name, read(file), languages), size):
            sources, targets, places = map(list, zip(*pairs, strict=True))
            yield Block(name, first, sources, targets, name, file.bytes_read(), places=places)
            first += len(pairs)


def side_by_side(
    names: Sequence[str], files: Sequence[Iterator[Item]], unit: str = "lines"
) -> Iterator[tuple[Item, ...]]:
    """Yield what several files have in each line. Raises WeftError if they have different numbers of ``unit``."""
    for number, row in enumerate(itertools.zip_longest(*files)):
        if any(item is None for item in row):
            counts = [number + (item is not None) + sum(1 for _ in rest) for item, rest in zip(row, files, strict=True)]
            other = next(place for place, count in enumerate(counts) if count != counts[0])
            raise WeftError(
                f"{shown(names[0])} has {counts[0]:,} {unit} but {shown(names[other])} has {counts[other]:,}; "
                "all need one line per sentence pair"
            )
        yield row


def _chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield rows in lists of at most ``size``; what is text in them is in their first two columns."""
    chunk: list[Row] = []
    held = 0
    for row in rows:
        chunk.append(row)
        held += sum(map(len, row[:2]))
        if len(chunk) == size or held >= _BLOCK_BYTES:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


@contextlib.contextmanager
def open_lines(name: str) -> Iterator[Lines]:
    """Open the lines of a file, decompressed if its name ends in .gz, .xz or .zst; ``-`` is stdin."""
    with open_input(name) as file:
        yield Lines(file)


def _parquet_blocks(name: str, size: int) -> Iterator[Block]:
    first = 1
    for source, target in _parquet_columns(name, size):
        yield Block(name, first, source, target, name)
        first += len(source)


def decode_line(line: bytes, file: str, number: int) -> str:
    """Return the text of a line. Raises BadLine."""
    if line == TOO_LONG:
        raise BadLine(file, number, f"longer than {LONGEST_LINE >> 20} MB")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(file, number, f"invalid UTF-8 at byte {error.start + 1}") from None


def _split_columns(line: str, file: str, number: int) -> tuple[str, str]:
    if not line.strip():
        return "", ""  # an empty pair, which is no error
    separator = "\t" if "\t" in line else "|||"
    columns = line.split(separator)
    if len(columns) == 2:
        return columns[0], columns[1]
    if len(columns) == 1:
        raise BadLine(file, number, "expected two columns, 'source TAB target' or 'source ||| target', found one")
    name = "tab-separated columns" if separator == "\t" else "columns separated by |||"
    raise BadLine(file, number, f"expected two columns, found {len(columns)} {name}")


def _json_pair(line: str, file: str, number: int) -> tuple[str, str]:
    """Return the members source and target of an object: text, or objects with a member text, as weft align writes."""
    try:
        pair = json.loads(line)
        sides = [side["text"] if isinstance(side, dict) else side for side in (pair["source"], pair["target"])]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadLine(file, number, 'expected an object with "source" and "target"') from None
    if not all(isinstance(side, str) for side in sides):
        raise BadLine(file, number, '"source" and "target" must be text')
    try:
        "".join(sides).encode()
    except UnicodeEncodeError:
        raise BadLine(file, number, "half a surrogate pair, such as \\ud800, which is no character") from None
    return sides[0], sides[1]


def _parquet_columns(name: str, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield both columns, at most ``size`` rows at a time; what is missing is empty."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WeftError(f"{name}: to read it, pip install 'weft[parquet]'") from None
    binary = {pyarrow.string(): pyarrow.binary(), pyarrow.large_string(): pyarrow.large_binary()}
    try:
        with parquet.ParquetFile(name) as file:
            kinds = {field.name: field.type for field in file.schema_arrow}
            if not {kinds.get("source"), kinds.get("target")} <= binary.keys():
                columns = ", ".join(kinds)
                raise WeftError(f"{name}: needs two columns of text, source and target; its columns are {columns}")
            for batch in file.iter_batches(batch_size=size, columns=["source", "target"]):
                # As bytes: a writer may have put invalid UTF-8 there, which is a bad line, not the end of the file.
                source, target = (batch[side].cast(binary[kinds[side]]).to_pylist() for side in ("source", "target"))
                yield _capped(source), _capped(target)
    except (OSError, pyarrow.ArrowException) as error:
        raise WeftError(f"{name}: cannot be read: {str(error).splitlines()[0]}") from None


def _capped(column: list[bytes | None]) -> list[bytes]:
    return [TOO_LONG if text and len(text) > LONGEST_LINE else text or b"" for text in column]


def read_text(name: str) -> Iterator[str]:
    """Yield the lines of a text file or of stdin. Raises BadLine."""
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            yield decode_line(line, shown(name), number)
