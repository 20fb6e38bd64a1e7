"""Documents with segments: their bytes to text, and back with other targets, so that nothing else changes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.text.streams import open_input

_KNOWN = re.compile(
    r"utf-?8|us-ascii|ascii|iso-8859-\d+|windows-\d+|cp\d+|koi8-[ru]|shift[_-]jis|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5",
    re.IGNORECASE,
)  # codecs of Python that are no character sets, some of them slow, stay out
_BEGINNINGS = {  # a mark, or the first sign of markup without one
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}


class Segment(NamedTuple):
    """A target to which markup can be transferred."""

    source: str  # with its markup
    target: slice  # of the document in UTF-8
    place: str  # file and line, for messages


class Document:
    """A file of which targets can be replaced."""

    def __init__(self, data: bytes, encoding: str, segments: Sequence[Segment]) -> None:
        """``data`` is in UTF-8; ``encoding`` is that of the file. Targets are in order and do not overlap."""
        self._data, self._encoding, self.segments = data, encoding, segments

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the source and the target of each segment, with their markup, as they are written."""
        for segment in self.segments:
            yield segment.source, self._data[segment.target].decode()

    def with_targets(self, targets: Iterable[str]) -> bytes:
        """Return the bytes of the file with these targets, one for each segment."""
        parts, last = [], 0
        for segment, target in zip(self.segments, targets, strict=True):
            parts += self._data[last : segment.target.start], target.encode()
            last = segment.target.stop
        data = b"".join([*parts, self._data[last:]])
        # A character that the encoding does not have becomes a reference such as &#8364;.
        return data if self._encoding == "utf-8" else data.decode().encode(self._encoding, "xmlcharrefreplace")


def read_document(name: str, most: int) -> bytes:
    """Read a file of at most ``most`` bytes, decompressed if its name says so. Raises WeftError."""
    with open_input(name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise WeftError(f"{name}: more than {most >> 20} MB; split it")
    return data


def encoding_of(data: bytes, declaration: re.Pattern[bytes], file: str) -> str:
    """Return Python's name of the encoding: as the first bytes say, or the ``declaration``'s group, or UTF-8."""
    for beginning, encoding in _BEGINNINGS.items():
        if data.startswith(beginning):
            return encoding
    declared = declaration.search(data)
    name = declared[1].decode("ascii", "replace") if declared else "utf-8"
    try:
        if not _KNOWN.fullmatch(name):
            raise LookupError
        return codecs.lookup(name).name
    except LookupError:
        problem = f"cannot be read as {name!r}, the encoding that it declares; convert it to UTF-8"
        raise WeftError(f"{file}: {problem}") from None


def decode_document(data: bytes, encoding: str, file: str) -> str:
    """Return the text of a document. Raises WeftError unless encoding it again gives the same bytes."""
    try:
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return text
        problem = "has bytes that stand for no character, or for the same one as others do"
    except UnicodeError as error:
        place = f" at byte {error.start + 1:,}" if isinstance(error, UnicodeDecodeError) else ""
        problem = f"is not valid {encoding}{place}"
    raise WeftError(f"{file}: {problem}; convert it to UTF-8 with iconv, and what it says of its encoding")
