"""Sentence pairs from files: TSV, ``source ||| target``, JSONL, Parquet, translation memories, two files side by side.

Lines are read as bytes, end at ``\\n`` only, and travel in blocks that know their file and line number, so that a block
can be worked on in another process and an error there still names the line. A text can be read in part: lines before
that part are counted, but not looked at, or, in a plain file, not even read. A line of more than 16 MB is a bad line,
and a block ends after 64 MB, so that memory stays bounded whatever a file holds.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeVar

from weft.errors import BadLine, WeftError
from weft.text.archives import open_archive
from weft.text.catalogues import catalogue_entries
from weft.text.memories import TRANSLATION, Entry, memory_pairs, two_of, which_two
from weft.text.parquet_files import count_rows, parquet_pairs
from weft.text.streams import LONGEST_LINE, TOO_LONG, Input, Lines, compression_of, open_input, shown
from weft.text.xml_memories import tmx_entries, xliff_entries

Form = Literal["auto", "columns", "jsonl"]
"""How a line holds a pair: in two columns or as a JSON object; ``auto``: what the file's name says."""
Item = TypeVar("Item")
Row = TypeVar("Row", bound=tuple)

ALL_LINES = range(sys.maxsize)
"""The lines of a whole text, however many it has."""
_BLOCK_LINES = 10_000
_BLOCK_BYTES = 1 << 26

_MEMORIES: dict[str, Callable[[Input], Iterator[Entry]]] = {
    ".tmx": tmx_entries,
    ".xlf": xliff_entries,
    ".xliff": xliff_entries,
    ".po": catalogue_entries,
}
_NOT_LINES = {".zip", ".parquet", *_MEMORIES}  # kinds that hold both sides, and not in lines of their own
_BOTH_SIDES = {".jsonl", *_NOT_LINES}
_COMPRESSED = {".gz", ".xz", ".zst"}


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
    languages: tuple[str, ...] = ()  # to find in these objects
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
            if self.jsonl:
                return _json_pair(source, self.file, number, self.languages)
            return _split_columns(source, self.file, number)
        return source, decode_line(self.target[index], self.target_file, number)

    def line(self, index: int) -> int:
        """Return the number of a pair's line in the file."""
        return self.first_line + index if self.places is None else self.places[index]


class Shard(NamedTuple):
    """One of ``count`` parts of a text, counted from one. Each is a run of lines; the parts are about equally long.

    `Corpus.cut` says where they begin: at equal numbers of lines, or in a plain file at equal numbers of bytes.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``3/8``."""
        parts = text.split("/")
        if len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts):
            shard = cls(int(parts[0]), int(parts[1]))
            if 1 <= shard.number <= shard.count:
                return shard
        raise WeftError(f"a shard is one of 1/8 to 8/8, say, not {text}")

    def lines(self, total: int) -> range:
        """Return which lines of a text of ``total`` lines it has, counted from zero."""
        return range(total * (self.number - 1) // self.count, total * self.number // self.count)

    def span(self, name: str) -> range:
        """Return which bytes of a file it has: the lines that begin among those from (number - 1) / count on."""
        with open(name, "rb") as file:
            places = self.lines(file.seek(0, io.SEEK_END))
            return range(_line_start(file, places.start), _line_start(file, places.stop))


def _line_start(file: IO[bytes], place: int) -> int:
    """Return where the first line begins that does not begin before ``place``, or where the file ends."""
    if place == 0:
        return 0
    file.seek(place - 1)
    while (read := file.readline(1 << 16)) and not read.endswith(b"\n"):
        pass
    return file.tell()


@dataclass(frozen=True)
class Corpus:
    """Where parallel text comes from: files with both sides, or pairs of files; ``-`` is stdin."""

    files: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    form: Form = "auto"
    """Of files with both sides; stdin, which has no name, is taken for columns unless this says otherwise."""
    languages: tuple[str, ...] = ()
    """Codes of the source and the target language, to find in memories and data sets; () if there are no others."""
    span: range | None = None
    """The bytes that are read of one plain file, which are whole lines; None for all. Lines are counted from there."""

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise WeftError(f"{len(self.source)} source files but {len(self.target)} target files: give one for one")
        if bool(self.files) == bool(self.source):
            raise WeftError("give parallel text either as files with both sides or as source files and target files")
        check_stdin(self.files + self.source + self.target)
        if self.languages and len(set(self.languages)) < 2:
            raise WeftError(f"a pair has two different languages, not {self.languages[0]} twice")
        for name in self.files + self.source + self.target:
            if name != "-" and Path(name).is_dir():
                raise WeftError(f"{name}: is a folder; give a file")
            if name != "-" and not Path(name).exists():
                raise WeftError(f"{name}: no such file")
        for name in self.source + self.target:
            if kind_of(name) in _BOTH_SIDES:
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

    def blocks(self, size: int = 0, lines: range = ALL_LINES) -> Iterator[Block]:
        """Yield lines, in order, in blocks of at most ``size`` lines (0: a size that suits bulk work).

        ``lines`` are those wanted of each file, or pairs of a memory, counted from zero.
        """
        size = size or _BLOCK_LINES
        for name in self.files:
            kind = self._kind(name)
            if kind == ".parquet":
                yield from _parquet_blocks(name, self.languages, size, lines)
            elif kind in _MEMORIES:
                yield from _memory_blocks(name, _MEMORIES[kind], self.languages, size, lines)
            else:
                with self._opened(name) as sides:
                    blocks = _line_blocks(sides, size, lines)
                    if kind == ".jsonl":
                        blocks = (replace(block, jsonl=True, languages=self.languages) for block in blocks)
                    yield from blocks
        for source, target in zip(self.source, self.target, strict=True):
            with self._opened(source, target) as sides:
                yield from _line_blocks(sides, size, lines)

    def cut(self, shard: Shard) -> tuple[Corpus, range]:
        """Return a part of the text: the text, or a span of it, and which lines of that. Raises WeftError for a stream.

        One file with both sides that is neither compressed nor a memory is cut by bytes, so that nothing before the
        part need be read.
        """
        name = self.files[0] if len(self.files) == 1 else "-"
        is_plain = self._kind(name) not in _NOT_LINES and compression_of(name) is None
        if is_plain and Path(name).is_file():
            return replace(self, span=shard.span(name)), ALL_LINES
        return self, shard.lines(self.count_lines())

    def lines_before(self) -> int:
        """Return how many lines of the file are before its span, which are read for that."""
        if self.span is None:
            return 0
        with open_lines(self.files[0], range(self.span.start)) as lines:
            return lines.skip(sys.maxsize)

    def count_lines(self) -> int:
        """Return the number of lines, or pairs of a memory. Raises WeftError if two files differ, or for a stream."""
        return sum(map(self._count_lines, self.files)) + sum(map(self._count_lines, self.source, self.target))

    def _count_lines(self, *names: str) -> int:
        for name in names:
            if not Path(name).is_file():
                raise WeftError(f"{shown(name)}: the lines of a stream cannot be counted before they are read")
        kind = self._kind(names[0])
        if kind == ".parquet":
            return count_rows(names[0])
        if kind in _MEMORIES:
            return sum(len(block.source) for block in self.blocks())
        with self._opened(*names) as sides:
            counts = [side.skip(sys.maxsize) for side in sides]
            if len(set(counts)) > 1:
                raise different_lengths([side.name for side in sides], counts)
        return counts[0]

    def _kind(self, name: str) -> str:
        return kind_of(name) if self.form == "auto" else f".{self.form}"

    @contextlib.contextmanager
    def _opened(self, *names: str) -> Iterator[list[Lines]]:
        """Open the lines of a file with both sides, or of two: of an archive or of two files."""
        with contextlib.ExitStack() as stack:
            if len(names) == 1 and self._kind(names[0]) == ".zip":
                yield [Lines(side) for side in stack.enter_context(open_archive(names[0], self.languages))]
            else:
                yield [stack.enter_context(open_lines(name, self.span)) for name in names]


def check_stdin(names: Iterable[str | None]) -> None:
    """Raise WeftError if stdin is among the files more than once."""
    if list(names).count("-") > 1:
        raise WeftError("stdin (-) can be read only once")


def kind_of(name: str) -> str:
    """Return the last ending, or the one before that of a compressed file: ``my.jsonl.tsv`` is TSV.

    Translators' tools have endings of their own for XLIFF, such as .sdlxliff: all of them are .xliff here.
    """
    path = Path(name.lower())
    ending = Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix
    return ".xliff" if ending.endswith("xliff") else ending


def _line_blocks(sides: Sequence[Lines], size: int, lines: range) -> Iterator[Block]:
    """Yield blocks of a file with both sides, or of two files."""
    names = [side.name for side in sides]
    for side in sides:
        if side.skip(lines.start) < lines.start:
            raise WeftError(f"{side.name}: ends before line {lines.start:,}, after which to begin")
    first = lines.start + 1
    rows_of_all = side_by_side(names, sides) if len(sides) > 1 else zip(*sides, strict=True)
    for rows in _chunks(itertools.islice(rows_of_all, len(lines)), size):
        source, *target = map(list, zip(*rows, strict=True))
        bytes_read = sum(side.bytes_read() for side in sides)
        yield Block(names[0], first, source, target[0] if target else None, names[-1], bytes_read)
        first += len(rows)


def _memory_blocks(
    name: str, read: Callable[[Input], Iterator[Entry]], languages: tuple[str, ...], size: int, lines: range
) -> Iterator[Block]:
    with open_input(name) as file:
        first = lines.start + 1
        wanted = itertools.islice(memory_pairs(name, read(file), languages), lines.start, lines.stop)
        for pairs in _chunks(wanted, size):
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
            raise different_lengths(names, counts, unit)
        yield row


def different_lengths(names: Sequence[str], counts: Sequence[int], unit: str = "lines") -> WeftError:
    """Return the error that names two files of different lengths."""
    other = next(place for place, count in enumerate(counts) if count != counts[0])
    return WeftError(
        f"{shown(names[0])} has {counts[0]:,} {unit} but {shown(names[other])} has {counts[other]:,}; "
        "all need one line per sentence pair"
    )


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
def open_lines(name: str, span: range | None = None) -> Iterator[Lines]:
    """Open the lines of a file, decompressed if its name ends in .gz, .xz or .zst, or of a span; ``-`` is stdin."""
    with open_input(name, span) as file:
        yield Lines(file, started=bool(span and span.start))


def _parquet_blocks(name: str, languages: tuple[str, ...], size: int, lines: range) -> Iterator[Block]:
    first = lines.start + 1
    for pairs in _chunks(parquet_pairs(name, lines, languages), size):
        source, target = map(list, zip(*pairs, strict=True))
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


def _json_pair(line: str, file: str, number: int, languages: tuple[str, ...]) -> tuple[str, str]:
    """Return the members source and target of an object: text, or objects with a member text, as weft align writes.

    Or two of the members of its translation, by language, as Hugging Face's data sets have them.
    """
    try:
        pair = json.loads(line)
        if TRANSLATION in pair and "source" not in pair:
            texts = {**pair[TRANSLATION]}
            chosen = two_of([*texts], languages)
            if chosen is None:
                raise BadLine(file, number, which_two([*texts]))
            sides = [texts[code] for code in chosen]
        else:
            sides = [side["text"] if isinstance(side, dict) else side for side in (pair["source"], pair["target"])]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadLine(file, number, 'expected an object with "source" and "target"') from None
    if not all(isinstance(side, str) for side in sides):
        raise BadLine(file, number, "both sides must be text")
    try:
        "".join(sides).encode()
    except UnicodeEncodeError:
        raise BadLine(file, number, "half a surrogate pair, such as \\ud800, which is no character") from None
    return sides[0], sides[1]


def read_text(name: str) -> Iterator[str]:
    """Yield the lines of a text file or of stdin. Raises BadLine."""
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            yield decode_line(line, shown(name), number)
