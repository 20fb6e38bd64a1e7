"""The encoding of a document: text from bytes and back, without a byte that changes on the way."""

from __future__ import annotations

import codecs
import re

from weft.errors import WeftError

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
        raise WeftError(
            f"{file}: cannot be read as {name!r}, the encoding that it declares; convert it to UTF-8"
        ) from None


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


def encode_document(text: str, encoding: str) -> bytes:
    """Return the bytes of a document; characters that the encoding does not have become references such as &#8364;."""
    return text.encode(encoding, "xmlcharrefreplace")
