"""Bytes from files and into files, compressed where their names end in .gz, .xz or .zst; ``-`` is stdin."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from weft.errors import WeftError

LONGEST_LINE = 1 << 24
TOO_LONG = b"\xff too long"  # stands for such a line: invalid UTF-8, so that no good line equals it
_FRAME = 1 << 18  # bytes of text that are compressed together
_AT_A_TIME = 1 << 11  # compressed bytes, which can be 66 MB of text: little, so that a bomb stays small
_ENCODINGS = {  # that text is sometimes in, by the marks at its beginning; some marks begin with others
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile)  # zlib.error: of a member of an archive

# -- reading -----------------------------------------------------------------------------------------------------------


class Input:
    """The bytes of a file, decompressed."""

    def __init__(self, name: str, stream: Any, position: Callable[[], int]) -> None:
        """Wrap a buffered ``stream``.

        ``name`` is what messages call it; ``position`` returns how much of the file on disk has been read.
        """
        self.name, self._stream, self._position = name, stream, position
        self._counted = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end. Raises WeftError."""
        try:
            return self._stream.read(size)
        except _DAMAGE as error:
            raise self._unreadable(error) from None

    def readline(self, size: int) -> bytes:
        """Return the next line, or its first bytes if it is longer. Raises WeftError."""
        try:
            return self._stream.readline(size)
        except _DAMAGE as error:
            raise self._unreadable(error) from None

    def skip_lines(self, most: int) -> int:
        """Skip lines, at most so many. Returns how many there were. Raises WeftError."""
        lines, ends = 0, True
        try:
            while lines < most and (ready := self._stream.peek(1)):  # what is in memory: no line need be found in it
                found = ready.count(b"\n")
                if found >= most - lines:
                    ready = ready[: -len(ready.split(b"\n", most - lines)[-1]) or None]
                    found = most - lines
                self._stream.read(len(ready))
                lines, ends = lines + found, ready.endswith(b"\n")
        except _DAMAGE as error:
            raise self._unreadable(error) from None
        return lines if ends else lines + 1

    def bytes_read(self) -> int:
        """Return the bytes read from disk since the last call; 0 for stdin and pipes."""
        before, self._counted = self._counted, self._position()
        return self._counted - before

    def _unreadable(self, error: Exception) -> WeftError:
        return WeftError(f"{self.name}: cannot be read to its end: {str(error) or 'it is cut off'}")


class Lines:
    """The lines of a file, as bytes without their line ends. A line of more than 16 MB is `TOO_LONG`."""

    def __init__(self, file: Input, started: bool = False) -> None:
        """``started``: these are not the first lines of their file."""
        self._file = file
        self.name, self.bytes_read = file.name, file.bytes_read
        self._started = started

    def skip(self, most: int) -> int:
        """Skip lines, at most so many, which is much faster than reading them. Returns how many there were."""
        skipped = self._file.skip_lines(most)
        self._started = self._started or skipped > 0
        self._file.bytes_read()  # is no progress
        return skipped

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self._file.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        if not self._started:
            self._started = True
            for mark, name in _ENCODINGS.items():
                if line.startswith(mark):
                    convert = f"iconv -f {name.lower()} -t utf-8"
                    raise WeftError(f"{self._file.name}: is {name}; convert it to UTF-8 ({convert})")
            line = line.removeprefix(codecs.BOM_UTF8)
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            return line.removesuffix(b"\n")
        while line and not line.endswith(b"\n"):  # go to the end of the line, so that the next one can be read
            line = self._file.readline(LONGEST_LINE)
        return TOO_LONG


@contextlib.contextmanager
def open_input(name: str, span: range | None = None) -> Iterator[Input]:
    """Open a file and decompress it if its name says so, or, of one that is not compressed, a span of its bytes."""
    if name == "-":
        yield Input(shown(name), sys.stdin.buffer, lambda: 0)
        return
    try:
        raw = open(name, "rb")
    except OSError as error:
        raise WeftError(f"{name}: {error.strerror}") from None
    with raw:
        stream: Any = raw
        compression = compression_of(name)
        if compression is not None:
            stream = io.BufferedReader(_Decompressed(raw, compression), 1 << 16)
        elif span is not None:
            stream = io.BufferedReader(_Span(raw, span), 1 << 16)
        yield Input(name, stream, raw.tell if raw.seekable() else lambda: 0)


def shown(name: str) -> str:
    """Return what messages call a file."""
    return "stdin" if name == "-" else name


def _zstandard(name: str) -> Any:
    try:
        import zstandard  # here, so that hosts without it can still train
    except ImportError:
        raise WeftError(f"{name}: needs zstandard: pip install zstandard") from None
    return zstandard


class _Span(io.RawIOBase):
    """Some bytes of a file."""

    def __init__(self, raw: Any, span: range) -> None:
        self._raw, self._left = raw, len(span)
        raw.seek(span.start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = self._raw.readinto(memoryview(buffer)[: self._left])
        self._left -= size
        return size


class _Decompressed(io.RawIOBase):
    """Decompressed bytes of one or more frames, which zeros may follow, as on tapes.

    Libraries' own readers take a truncated frame for a whole one, or rubbish after the first frame for the end.
    """

    def __init__(self, raw: IO[bytes], compression: Compression) -> None:
        self._raw, self._compression = raw, compression
        self._frame: Any = None  # that has begun and not ended
        self._has_frames = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            compressed = self._raw.read(_AT_A_TIME)
            if not compressed:
                if self._frame is not None or not self._has_frames:
                    raise EOFError("it is cut off: its last frame has no end")
                return 0
            self._ready = memoryview(b"".join(self._decompress(compressed)))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decompress(self, compressed: bytes) -> Iterator[bytes]:
        if self._frame is None and self._has_frames:
            compressed = compressed.lstrip(b"\0")
        while compressed:
            frame = self._frame or self._compression.decompressor()
            try:
                yield frame.decompress(compressed)
            except self._compression.error as error:
                raise OSError(f"it is damaged: {error}") from None
            self._has_frames = True
            compressed = frame.unused_data.lstrip(b"\0") if frame.eof else b""
            self._frame = None if frame.eof else frame


# -- writing -----------------------------------------------------------------------------------------------------------


class Compression(NamedTuple):
    """How the bytes of a file are compressed: in frames, which can stand one after the other."""

    compress: Callable[[bytes], bytes]
    """Returns a frame."""
    decompressor: Callable[[], Any]
    """Returns what decompresses one frame."""
    error: type[Exception]
    """What it raises for bytes that are no frame."""

    def whole_lines(self, file: IO[bytes]) -> tuple[int, int]:
        """Return the lines of the whole frames at the start of a file, and where these frames end."""
        lines = end = 0  # up to the last whole frame
        found, last = 0, b""  # of the frame that has begun
        frame = self.decompressor()
        file.seek(0)
        while compressed := file.read(_AT_A_TIME):
            while compressed:
                try:
                    text = frame.decompress(compressed)
                except self.error:  # the end of what can be used
                    return lines, end
                found, last = found + text.count(b"\n"), text[-1:] or last
                compressed = frame.unused_data
                if frame.eof:
                    if last != b"\n":  # an interrupted command could not finish its line
                        return lines, end
                    lines, end = lines + found, file.tell() - len(compressed)
                    found, last, frame = 0, b"", self.decompressor()
        return lines, end


def compression_of(name: str) -> Compression | None:
    """Return how a file of this name is compressed, or None if it is not."""
    name = name.lower()
    if name.endswith(".gz"):
        return Compression(
            lambda text: gzip.compress(text, 6, mtime=0), lambda: zlib.decompressobj(wbits=31), zlib.error
        )
    if name.endswith(".xz"):
        return Compression(lzma.compress, lzma.LZMADecompressor, lzma.LZMAError)
    if name.endswith(".zst"):
        library = _zstandard(name)
        return Compression(library.compress, lambda: library.ZstdDecompressor().decompressobj(), library.ZstdError)
    return None


class Compressed(io.RawIOBase):
    """Compresses what is written into a file, in frames of whole lines.

    So what a kill leaves can be continued after its last whole frame, and ``flush`` lets a reader see all lines.
    """

    def __init__(self, file: IO[bytes], compression: Compression) -> None:
        self._file, self._compress = file, compression.compress
        self._held: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:  # type: ignore[override]
        self._held.append(bytes(text))
        self._size += len(text)
        if self._size >= _FRAME and b"\n" in self._held[-1]:
            lines, end, rest = b"".join(self._held).rpartition(b"\n")
            self._held, self._size = [rest], len(rest)
            self._file.write(self._compress(lines + end))
        return len(text)

    def flush(self) -> None:
        if self._file.closed:  # this object may live longer
            return
        text = b"".join(self._held)
        self._held, self._size = [], 0
        if text:
            self._file.write(self._compress(text))
        self._file.flush()

    def close(self) -> None:
        super().close()
        self._file.close()
