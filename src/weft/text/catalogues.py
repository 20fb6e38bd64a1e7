"""Entries of gettext catalogues (.po): messages and their translations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from weft.errors import WeftError
from weft.text.memories import Entry
from weft.text.streams import LONGEST_LINE, TOO_LONG, Input, Lines

_LONGEST_ENTRY = 4 * LONGEST_LINE
_OVERHEAD = 64  # bytes of memory for each line
# Possessive, so that a long line takes little memory; without groups in what is repeated, which re of Python 3.11 gets
# wrong.
_INSIDE = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_LINE = re.compile(rf'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d{{1,3}}\]|domain)?\s*+((?:"{_INSIDE}"\s*+)++)')
_STRINGS = re.compile(f'"({_INSIDE})"')
_ESCAPE = re.compile(r"(?P<bytes>(?:\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}))++)|\\(?P<letter>.)")
_NUMBERS = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2}))")  # of bytes
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", '"': '"'}
_PLAIN = bytes(range(32, 127)) + rb"\n\x41"  # what the syntax of catalogues is made of

_Raw = list[tuple[int, bytes]]
"""The lines of an entry, without comments, with their numbers."""


def catalogue_entries(file: Input) -> Iterator[Entry]:
    """Yield the messages of a catalogue with their translations, whose language its header may name.

    A plural is an entry of its own, with the second form of its translation. Fuzzy and obsolete entries are left out.
    Raises WeftError.
    """
    charset, language = "utf-8", ""
    for number, (lines, is_fuzzy) in enumerate(_raw_entries(file)):
        if number == 0:
            header = _parts(file.name, lines, "latin-1")  # only its ASCII matters
            if not header.get("msgid") and "msgctxt" not in header:
                charset, language = _described(file.name, header.get("msgstr", ""))
                continue
        if is_fuzzy:
            continue
        parts = _parts(file.name, lines, charset)
        for message, form in (("msgid", "msgstr"), ("msgid", "msgstr[0]"), ("msgid_plural", "msgstr[1]")):
            if parts.get(message) and form in parts:
                yield Entry(lines[0][0], [("", parts[message]), (language, parts[form])])


def _raw_entries(file: Input) -> Iterator[tuple[_Raw, bool]]:
    """Yield the lines of each entry, and whether it is fuzzy."""
    lines: _Raw = []
    is_fuzzy = is_translated = False
    held = 0
    for number, line in enumerate(Lines(file), 1):
        line = line.strip()
        is_comment = line.startswith(b"#")
        if is_translated and (is_comment or line.startswith((b"msgctxt", b"msgid"))):
            yield lines, is_fuzzy
            lines, is_fuzzy, is_translated, held = [], False, False, 0
        if line.startswith((b"#,", b"#=")):
            is_fuzzy |= b"fuzzy" in line[2:].replace(b",", b" ").split()
        elif line.startswith(b"#~"):
            is_fuzzy = False  # that was said of an obsolete entry
        elif line and not is_comment:
            if line == TOO_LONG or held > _LONGEST_ENTRY:
                raise WeftError(f"{file.name}:{number}: a line of more than 16 MB, or an entry of more than 64 MB")
            is_translated |= line.startswith(b"msgstr")
            lines.append((number, line))
            held += len(line) + _OVERHEAD
    if lines:
        yield lines, is_fuzzy


def _parts(file: str, lines: _Raw, charset: str) -> dict[str, str]:
    """Return the keywords of an entry with their strings."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in lines:
        try:
            match = _LINE.fullmatch(line.decode(charset))
        except UnicodeError:
            problem = f"not {charset}, as the header says; correct the header, or convert with msgconv"
            raise WeftError(f"{file}:{number}: {problem}") from None
        if match is not None and match[1]:
            current = found.setdefault(match[1], [])
        if match is None or current is None or (match[1] and current):
            raise WeftError(f'{file}:{number}: expected a message or its translation, such as msgid "Open"')
        current += _STRINGS.findall(match[2]) or [""]
    return {keyword: _unescaped("".join(strings), charset) for keyword, strings in found.items()}


def _unescaped(text: str, charset: str) -> str:
    def meant(match: re.Match[str]) -> str:
        if match["bytes"] is None:
            return _ESCAPED.get(match["letter"], match[0])
        numbers = (
            int(octal, 8) if octal else int(hexadecimal, 16) for octal, hexadecimal in _NUMBERS.findall(match[0])
        )
        return bytes(number & 255 for number in numbers).decode(charset, "replace")

    return _ESCAPE.sub(meant, text) if "\\" in text else text


def _described(file: str, header: str) -> tuple[str, str]:
    """Return the charset and the language that a header names."""
    charset = re.search(r"charset=([\w.:-]+)", header)
    language = re.search(r"^Language:\s*([\w-]+)", header, re.MULTILINE)
    name = charset[1] if charset and charset[1] != "CHARSET" else "utf-8"  # CHARSET stands in templates
    try:
        known = _PLAIN.decode(name) == _PLAIN.decode("ascii")
    except (LookupError, ValueError):
        known = False
    if not known:
        raise WeftError(f"{file}: the charset {name[:50]} of its header is none for catalogues; convert it to UTF-8")
    return name, language[1] if language else ""
