"""Entries of TMX and XLIFF files, of any size: expat reads them piece by piece, and nothing is kept.

XML can be hostile: nothing is loaded, no entity is expanded but the five of XML, and depth and sizes have bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from weft.errors import WeftError
from weft.text.memories import Entry, Texts, primary
from weft.text.streams import LONGEST_LINE, Input

_CHUNK = 1 << 16
_DEEPEST = 200
_LONGEST_ENTRY = 4 * LONGEST_LINE
_OVERHEAD = 64  # bytes of memory for each piece of text
_LONGEST_NAMES = 1 << 20  # letters of all names of elements and attributes, which expat keeps

# Inline elements that hold codes of the original document; what others hold is text.
_CODES = {"bpt", "ept", "it", "ph", "ut"}


def tmx_entries(file: Input) -> Iterator[Entry]:
    """Yield the translation units of a TMX file. Raises WeftError."""
    return _Tmx(file).entries()


def xliff_entries(file: Input) -> Iterator[Entry]:
    """Yield the units of an XLIFF 1.2 file or the segments of an XLIFF 2 file. Raises WeftError."""
    return _Xliff(file).entries()


class _Document:
    """Makes entries of what expat says. Subclasses know which elements begin entries and texts."""

    root = ""
    units: tuple[str, ...] = ()
    """Elements that are entries."""

    def __init__(self, file: Input) -> None:
        self._file = file
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._add
        parser.StartDoctypeDeclHandler, parser.SkippedEntityHandler = self._check_doctype, self._refuse_entity
        self._open: list[str] = []  # elements that have begun and not ended
        self._ready: list[Entry] = []
        self._entry: Entry | None = None
        self._held = 0  # bytes of the entry, about
        self._language = ""
        self._text: list[str] | None = None  # of the segment that has begun
        self._text_depth = self._code_depth = 0  # of the elements that are the segment, and a code in it

    def entries(self) -> Iterator[Entry]:
        fed = names = 0
        while chunk := self._file.read(_CHUNK):
            fed += len(chunk)
            self._parse(chunk)
            if fed - self._parser.CurrentByteIndex > LONGEST_LINE:
                raise self._error("a tag or comment of more than 16 MB; remove it")
            if len(self._parser.intern) > names:
                names = len(self._parser.intern)
                if sum(len(name or "") for name in self._parser.intern) > _LONGEST_NAMES:
                    raise self._error(f"{names:,} names of elements and attributes; is it {self.root.upper()}?")
            yield from self._ready
            self._ready.clear()
        self._parse(b"")

    def _parse(self, chunk: bytes) -> None:
        """Parse a part of the file; b"" is its end."""
        try:
            self._parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            problem = f"broken XML ({expat.ErrorString(error.code)}); repair the file, or export it again"
            raise self._error(problem, error.lineno) from None
        except (LookupError, ValueError):
            raise self._error(
                "its encoding cannot be read; convert it to UTF-8, and say so in its first line"
            ) from None

    def _error(self, problem: str, line: int = 0) -> WeftError:
        return WeftError(f"{self._file.name}:{line or self._parser.CurrentLineNumber}: {problem}")

    def _check_doctype(self, name: str, system: str | None, public: str | None, has_definitions: bool) -> None:
        if has_definitions:
            raise self._error("its DOCTYPE holds definitions, which are not read; remove what is between [ and ]")

    def _refuse_entity(self, name: str, is_parameter: bool) -> None:
        raise self._error(f"unknown entity &{name[:50]}; write the character itself")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if len(self._open) > _DEEPEST:
            raise self._error(f"elements in elements, more than {_DEEPEST} deep; is it {self.root.upper()}?")
        if not parent and name != self.root:
            raise self._error(f"not {self.root.upper()}: begins with <{name[:50]}> instead of <{self.root}>")
        if self._text is None:
            if name in self.units:
                self._entry, self._held = Entry(self._parser.CurrentLineNumber, []), 0
            self.begin(name, parent, attributes)
        elif not self._code_depth:
            if name in _CODES:
                self._code_depth = len(self._open)
            elif name == "cp":
                self._add(self._character(attributes.get("hex", "")))

    def _end(self, name: str) -> None:
        depth = len(self._open)
        name = self._open.pop()
        if self._text is None:
            if name in self.units and self._entry is not None:
                self.finish(self._entry.texts)
                self._ready.append(self._entry)
                self._entry = None
        elif depth == self._code_depth:
            self._code_depth = 0
        elif depth == self._text_depth:
            if self._entry is not None:
                self._entry.texts.append((self._language, "".join(self._text)))
            self._text = None

    def _add(self, text: str) -> None:
        if self._text is not None and not self._code_depth:
            self._text.append(text)
            self._hold(text)

    def _hold(self, text: str) -> None:
        self._held += len(text) + _OVERHEAD
        if self._held > _LONGEST_ENTRY:
            raise self._error(f"a unit with more than {_LONGEST_ENTRY >> 20} MB of text; remove it")

    def _character(self, code: str) -> str:
        """Return the character of <cp hex="..."/>."""
        try:
            character = chr(int(code, 16))
            character.encode()
        except (ValueError, OverflowError):
            raise self._error(f'<cp hex="{code[:50]}"/> is no character; remove it') from None
        return character

    def _begin_text(self, language: str) -> None:
        self._language, self._text, self._text_depth = language, [], len(self._open)
        self._hold(language)

    def begin(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        """Take note of an element outside of segments."""
        raise NotImplementedError

    def finish(self, texts: Texts) -> None:
        """Put the texts of an entry in order."""


class _Tmx(_Document):
    root = "tmx"
    units = ("tu",)
    _source = _source_of_unit = _language_of_variant = ""

    def begin(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        if name == "header":
            self._source = attributes.get("srclang", "")
        elif name == "tu":
            self._source_of_unit = attributes.get("srclang", self._source)
        elif name == "tuv":
            self._language_of_variant = attributes.get("xml:lang") or attributes.get("lang", "")
        elif name == "seg" and parent == "tuv":
            self._begin_text(self._language_of_variant)

    def finish(self, texts: Texts) -> None:
        """Put the source language first, if the file names it."""
        source = self._source_of_unit
        texts.sort(key=lambda text: (text[0].lower() != source.lower(), primary(text[0]) != primary(source)))


class _Xliff(_Document):
    root = "xliff"
    units = ("trans-unit", "segment")
    _languages: tuple[str, str] = "", ""

    def begin(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        if name == "xliff":  # version 2
            self._languages = attributes.get("srcLang", ""), attributes.get("trgLang", "")
        elif name == "file" and "source-language" in attributes:  # version 1
            self._languages = attributes["source-language"], attributes.get("target-language", "")
        elif name in ("source", "target") and parent in self.units:  # not those of proposals
            self._begin_text(attributes.get("xml:lang") or self._languages[name == "target"])
