"""Sentence pairs from files: TSV, ``source ||| target``, JSONL, Parquet, two files side by side; compressed; stdin.

Lines are read as bytes, end at ``\\n`` only, and travel in blocks that know their file and line number, so that a block
can be worked on in another process and an error there still names the line. A line of more than 16 MB is a bad line,
and a block ends after 64 MB, so that memory stays bounded whatever a file holds.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, TypeVar

from weft.errors import BadLine, WeftError

Form = Literal["auto", "columns", "jsonl"]
"""How a line holds a pair: in two columns or as a JSON object; ``auto``: what the file's name says."""
Item = TypeVar("Item")

_BLOCK_LINES = 10_000
_BLOCK_BYTES = 1 << 26
_LONGEST_LINE = 1 << 24
_TOO_LONG = b"\xff too long"  # stands for such a line: invalid UTF-8, so that no good line equals it


@dataclass(frozen=True)
class Block:
    """Consecutive raw lines. ``target`` is None if each line holds both sides."""

    file: str
    first_line: int
    source: list[bytes]
    target: list[bytes] | None = None
    target_file: str = ""
    bytes_read: int = 0  # of the file on disk while this block was read, for progress
    jsonl: bool = False  # lines with both sides are JSON objects

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
        number = self.first_line + index
        source = decode_line(self.source[index], self.file, number)
        if self.target is None:
            return (_json_pair if self.jsonl else _split_columns)(source, self.file, number)
        return source, decode_line(self.target[index], self.target_file, number)

    def without_first(self, lines: int) -> Block:
        """Return the block without its first lines."""
        if lines == 0:
            return self
        target = None if self.target is None else self.target[lines:]
        return replace(self, first_line=self.first_line + lines, source=self.source[lines:], target=target)


@dataclass(frozen=True)
class Corpus:
    """Where parallel text comes from: files with both sides, or pairs of files; ``-`` is stdin."""

    files: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    form: Form = "auto"
    """Of files with both sides; stdin, which has no name, is taken for columns unless this says otherwise."""

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

    def size(self) -> int:
        """Return the bytes on disk (0 for stdin and pipes), to measure progress by."""
        return sum(Path(name).stat().st_size for name in self.files + self.source + self.target if name != "-")

    def blocks(self, size: int = 0) -> Iterator[Block]:
        """Yield all lines, in order, in blocks of at most ``size`` lines (0: a size that suits bulk work)."""
        size = size or _BLOCK_LINES
        for name in self.files:
            if self.form == "auto" and name.endswith(".parquet"):
                yield from _parquet_blocks(name, size)
                continue
            jsonl = self.form == "jsonl" or (self.form == "auto" and _is_jsonl(name))
            with open_lines(name) as lines:
                first = 1
                for rows in _chunks(zip(lines, strict=True), size):
                    both = [line for (line,) in rows]
                    yield Block(_shown(name), first, both, bytes_read=lines.bytes_read(), jsonl=jsonl)
                    first += len(rows)
        for source, target in zip(self.source, self.target, strict=True):
            yield from _blocks_of_two(source, target, size)


def _is_jsonl(name: str) -> bool:
    """Tell by the last ending, or by the one before that of a compressed file: ``my.jsonl.tsv`` is TSV."""
    for ending in (".gz", ".xz", ".zst"):
        name = name.removesuffix(ending)
    return name.endswith(".jsonl")


def _blocks_of_two(source: str, target: str, size: int) -> Iterator[Block]:
    with open_lines(source) as source_lines, open_lines(target) as target_lines:
        first = 1
        for rows in _chunks(side_by_side((source, target), (source_lines, target_lines)), size):
            sources, targets = map(list, zip(*rows, strict=True))
            read = source_lines.bytes_read() + target_lines.bytes_read()
            yield Block(_shown(source), first, sources, targets, _shown(target), read)
            first += len(rows)


def side_by_side(
    names: Sequence[str], files: Sequence[Iterator[Item]], unit: str = "lines"
) -> Iterator[tuple[Item, ...]]:
    """Yield what several files have in each line. Raises WeftError if they have different numbers of ``unit``."""
    for number, row in enumerate(itertools.zip_longest(*files)):
        if any(item is None for item in row):
            counts = [number + (item is not None) + sum(1 for _ in rest) for item, rest in zip(row, files, strict=True)]
            other = next(place for place, count in enumerate(counts) if count != counts[0])
            raise WeftError(
                f"{_shown(names[0])} has {counts[0]:,} {unit} but {_shown(names[other])} has {counts[other]:,}; "
                "all need one line per sentence pair"
            )
        yield row


def _chunks(rows: Iterable[tuple[bytes, ...]], size: int) -> Iterator[list[tuple[bytes, ...]]]:
    chunk: list[tuple[bytes, ...]] = []
    held = 0
    for row in rows:
        chunk.append(row)
        held += sum(map(len, row))
        if len(chunk) == size or held >= _BLOCK_BYTES:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


class Lines:
    """The lines of one file, as bytes without their line ends."""

    def __init__(self, name: str, raw: IO[bytes], stream: IO[bytes]) -> None:
        self._name, self._raw, self._stream = name, raw, stream
        self._counted = 0
        self._started = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self._read()
        if not line:
            raise StopIteration
        if not self._started:
            self._started = True
            if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise WeftError(f"{_shown(self._name)}: is UTF-16; convert it to UTF-8 (iconv -f utf-16 -t utf-8)")
            line = line.removeprefix(codecs.BOM_UTF8)
        if len(line) <= _LONGEST_LINE or line.endswith(b"\n"):
            return line.removesuffix(b"\n")
        while line and not line.endswith(b"\n"):  # go to the end of the line, so that the next one can be read
            line = self._read()
        return _TOO_LONG

    def _read(self) -> bytes:
        try:
            return self._stream.readline(_LONGEST_LINE + 1)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise WeftError(f"{_shown(self._name)}: cannot be read to its end: {error}") from None

    def bytes_read(self) -> int:
        """Return the bytes read from disk since the last call; 0 for stdin and pipes."""
        if not self._raw.seekable():
            return 0
        before, self._counted = self._counted, self._raw.tell()
        return self._counted - before


@contextlib.contextmanager
def open_lines(name: str) -> Iterator[Lines]:
    """Open a file and decompress it if its name ends in .gz, .xz or .zst; ``-`` is stdin."""
    if name == "-":
        yield Lines(name, sys.stdin.buffer, sys.stdin.buffer)
        return
    try:
        raw = open(name, "rb")
    except OSError as error:
        raise WeftError(f"{name}: {error.strerror}") from None
    with raw:
        if name.endswith(".gz"):
            yield Lines(name, raw, gzip.open(raw))  # pyrefly: ignore
        elif name.endswith(".xz"):
            yield Lines(name, raw, lzma.open(raw))  # pyrefly: ignore
        elif name.endswith(".zst"):
            yield Lines(name, raw, io.BufferedReader(_Zstandard(name, raw)))
        else:
            yield Lines(name, raw, raw)


class _Zstandard(io.RawIOBase):
    """Decompressed bytes of one or more frames. The library's own reader takes a truncated frame for a whole one."""

    def __init__(self, name: str, raw: IO[bytes]) -> None:
        try:
            import zstandard  # here, so that hosts without it can still train
        except ImportError:
            raise WeftError(f"{name}: to read it, pip install zstandard") from None
        self._library = zstandard
        self._raw = raw
        self._frame: zstandard.ZstdDecompressionObj | None = None  # the frame that has begun and not ended
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            compressed = self._raw.read(1 << 11)  # can be 66 MB of text: little, so that a bomb stays small
            if not compressed:
                if self._frame is not None:
                    raise EOFError("compressed file ended before the end of its last frame")
                return 0
            self._ready = memoryview(b"".join(self._decompress(compressed)))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decompress(self, compressed: bytes) -> Iterator[bytes]:
        while compressed:
            frame = self._frame or self._library.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(compressed)
            except self._library.ZstdError as error:
                raise OSError(error) from None
            compressed = frame.unused_data if frame.eof else b""
            self._frame = None if frame.eof else frame


def _parquet_blocks(name: str, size: int) -> Iterator[Block]:
    first = 1
    for source, target in _parquet_columns(name, size):
        yield Block(name, first, source, target, name)
        first += len(source)


def _shown(name: str) -> str:
    return "stdin" if name == "-" else name


def decode_line(line: bytes, file: str, number: int) -> str:
    """Return the text of a line. Raises BadLine."""
    if line == _TOO_LONG:
        raise BadLine(file, number, f"longer than {_LONGEST_LINE >> 20} MB")
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
    return [_TOO_LONG if text and len(text) > _LONGEST_LINE else text or b"" for text in column]


def read_text(name: str) -> Iterator[str]:
    """Yield the lines of a text file or of stdin. Raises BadLine."""
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            yield decode_line(line, _shown(name), number)
