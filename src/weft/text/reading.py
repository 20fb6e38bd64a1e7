"""Sentence pairs from files: TSV, ``source ||| target``, JSONL, Parquet, two files side by side; compressed; stdin.

Lines are read as bytes, end at ``\\n`` only, and travel in blocks that know their file and line number, so that a block
can be worked on in another process and an error there still names the line.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from weft.errors import BadLine, WeftError

_BLOCK_LINES = 10_000


@dataclass(frozen=True)
class Block:
    """Consecutive raw lines. ``target`` is None where each line holds both sides."""

    file: str
    first_line: int
    source: list[bytes]
    target: list[bytes] | None = None
    target_file: str = ""
    bytes_read: int = 0  # of the file on disk while this block was read, for progress

    def pairs(self, skip_bad: bool, on_bad: Callable[[BadLine], None]) -> Iterator[tuple[str, str]]:
        """The sentence pairs of the block. A bad line raises BadLine, or goes to ``on_bad`` where they are skipped."""
        for index in range(len(self.source)):
            try:
                yield self.pair(index)
            except BadLine as bad:
                if not skip_bad:
                    raise
                on_bad(bad)

    def pair(self, index: int) -> tuple[str, str]:
        """One sentence pair; a bad line raises BadLine."""
        number = self.first_line + index
        source = _decode(self.source[index], self.file, number)
        if self.target is None:
            columns = _json_pair if ".jsonl" in Path(self.file).suffixes else _split_columns
            return columns(source, self.file, number)
        return source, _decode(self.target[index], self.target_file, number)

    def behind(self, lines: int) -> Block:
        """The same without its first lines."""
        target = None if self.target is None else self.target[lines:]
        return replace(self, first_line=self.first_line + lines, source=self.source[lines:], target=target)


@dataclass(frozen=True)
class Corpus:
    """Where parallel text comes from: files with both sides, or pairs of files; ``-`` is stdin."""

    files: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise WeftError(f"{len(self.source)} source files but {len(self.target)} target files: give one for one")
        if bool(self.files) == bool(self.source):
            raise WeftError("give parallel text either as files with both sides or as --source and --target files")
        if (self.files + self.source + self.target).count("-") > 1:
            raise WeftError("stdin (-) can be read only once")
        for name in self.files + self.source + self.target:
            if name != "-" and (not Path(name).exists() or Path(name).is_dir()):
                raise WeftError(f"{name}: no such file")

    def size(self) -> int:
        """Bytes on disk (0 for stdin and pipes), to measure progress by."""
        return sum(Path(name).stat().st_size for name in self.files + self.source + self.target if name != "-")

    def blocks(self, size: int = 0) -> Iterator[Block]:
        """All lines, in order, in blocks of ``size`` (0: of a size that suits bulk work)."""
        size = size or _BLOCK_LINES
        for name in self.files:
            if name.endswith(".parquet"):
                yield from _parquet_blocks(name, size)
                continue
            with open_lines(name) as lines:
                first = 1
                while block := _take(lines, size):
                    yield Block(_shown(name), first, block, bytes_read=lines.bytes_read())
                    first += len(block)
        for source, target in zip(self.source, self.target, strict=True):
            yield from self._blocks_of_two(source, target, size)

    def _blocks_of_two(self, source: str, target: str, size: int) -> Iterator[Block]:
        with open_lines(source) as source_lines, open_lines(target) as target_lines:
            first = 1
            while True:
                sources, targets = _take(source_lines, size), _take(target_lines, size)
                if len(sources) != len(targets):
                    source_count = first - 1 + len(sources) + sum(1 for _ in source_lines)
                    target_count = first - 1 + len(targets) + sum(1 for _ in target_lines)
                    raise WeftError(
                        f"{_shown(source)} has {source_count:,} lines but {_shown(target)} has {target_count:,}; "
                        "both sides need one line per sentence pair"
                    )
                if not sources:
                    return
                read = source_lines.bytes_read() + target_lines.bytes_read()
                yield Block(_shown(source), first, sources, targets, _shown(target), read)
                first += len(sources)


class Lines:
    """The lines of one file, as bytes without their line ends."""

    def __init__(self, name: str, raw: IO[bytes], stream: IO[bytes]) -> None:
        self._name, self._raw, self._stream = name, raw, stream
        self._counted = 0
        self._started = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            line = self._stream.readline()
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise WeftError(f"{_shown(self._name)}: cannot be read to its end: {error}") from None
        if not line:
            raise StopIteration
        if not self._started:
            self._started = True
            line = line.removeprefix(codecs.BOM_UTF8)
        return line.removesuffix(b"\n")

    def bytes_read(self) -> int:
        """Bytes read from disk since the last call; 0 for stdin and pipes."""
        if not self._raw.seekable():
            return 0
        before, self._counted = self._counted, self._raw.tell()
        return self._counted - before


@contextlib.contextmanager
def open_lines(name: str) -> Iterator[Lines]:
    """Open a file, by its name's ending decompressing it; ``-`` is stdin."""
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
    """Decompressed bytes of one or more frames. The reader of the library takes a truncated frame for a whole one."""

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
            compressed = self._raw.read(1 << 14)
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
    for source, target in read_pairs(name, size):
        yield Block(name, first, source, target, name)
        first += len(source)


def _take(lines: Lines, count: int) -> list[bytes]:
    return list(itertools.islice(lines, count))


def _shown(name: str) -> str:
    return "stdin" if name == "-" else name


def _decode(line: bytes, file: str, number: int) -> str:
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
    """An object with the members source and target: text, or objects with a member text, as ``weft align`` writes."""
    try:
        pair = json.loads(line)
        sides = [side["text"] if isinstance(side, dict) else side for side in (pair["source"], pair["target"])]
    except (ValueError, KeyError, TypeError):
        raise BadLine(file, number, 'expected an object with "source" and "target"') from None
    if not all(isinstance(side, str) for side in sides):
        raise BadLine(file, number, '"source" and "target" must be text')
    return sides[0], sides[1]


def read_pairs(name: str, size: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Both columns, at most ``size`` rows at a time; what is missing is empty."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise WeftError(f"{name}: to read it, pip install 'weft[parquet]'") from None
    try:
        with parquet.ParquetFile(name) as file:
            kinds = {field.name: field.type for field in file.schema_arrow}
            for side in ("source", "target"):
                if side not in kinds or not (
                    pyarrow.types.is_string(kinds[side]) or pyarrow.types.is_large_string(kinds[side])
                ):
                    columns = ", ".join(kinds)
                    raise WeftError(f"{name}: needs two columns of text, source and target; its columns are {columns}")
            for batch in file.iter_batches(batch_size=size, columns=["source", "target"]):
                yield _bytes(batch["source"].to_pylist()), _bytes(batch["target"].to_pylist())
    except (OSError, pyarrow.ArrowException) as error:
        raise WeftError(f"{name}: cannot be read: {str(error).splitlines()[0]}") from None


def _bytes(column: list[str | None]) -> list[bytes]:
    return [(text or "").encode() for text in column]


def read_text(name: str) -> Iterator[str]:
    """The lines of a text file or of stdin."""
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                shown = "stdin" if name == "-" else name
                raise WeftError(f"{shown}:{number}: invalid UTF-8 at byte {error.start + 1}; mend the line") from None
