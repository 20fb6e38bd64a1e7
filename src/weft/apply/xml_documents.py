"""XLIFF 1.x and 2.x and TMX: the segments of a file, and the file with other targets.

No tree is built and written again: expat tells at which byte each element is, and new targets are put into the bytes of
the file. So everything else stays as it is: declarations, comments, white space, the order of attributes.

A file may come from anywhere. Nothing that it refers to is loaded, entities that it defines are refused, and nesting
and size have limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from weft.apply.documents import Document, Segment, decode_document, encoding_of, read_document
from weft.apply.markup import CODES, Marked, parse_markup
from weft.errors import WeftError
from weft.text.memories import is_language

Languages = tuple[str, str]
"""The source language and the target language, such as ``("en", "de")``."""

_MOST_BYTES = 1 << 29
_MOST_DEPTH = 500  # of elements within one another
_MOST_NAMESPACES = 1_000
_MOST_LANGUAGES = 100  # that are named in an error
_DECLARATION = re.compile(rb"\A<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)[\"']")
_REMARK = re.compile(r"<(?:[!?]|(?:[\w.-]+:)?(?:mrk|sm|em)\b)")  # of translators and their tools
_CODE_NAMES = "|".join(sorted(CODES))
_START_TAG = re.compile(rb"<[^\"'>]*(?:\"[^\"]*\"[^\"'>]*|'[^']*'[^\"'>]*)*>")


def read_xml_document(
    file: str, languages: Languages | None = None, everything: bool = False, placeholders: bool = False
) -> Document:
    """Read an XLIFF or TMX file: those of its segments whose target has text and lacks tags of its source.

    Not those that are approved, or have remarks in the target; with ``everything``, these as well, and all that have
    tags in their source. What is not to be translated is always left out. ``languages`` says which languages of a TMX
    file are source and target; without it, the file says which is the source, and all others are targets. With
    ``placeholders``, what a program fills in, such as ``{0}``, counts as a tag. Raises WeftError.
    """
    return parse_xml_document(read_document(file, _MOST_BYTES), file, languages, everything, placeholders)


def parse_xml_document(
    data: bytes, file: str, languages: Languages | None = None, everything: bool = False, placeholders: bool = False
) -> Document:
    """Return what ``read_xml_document`` does, from the bytes of a file; ``file`` is its name, for errors."""
    encoding = encoding_of(data, _DECLARATION, file)
    if encoding != "utf-8":
        data = decode_document(data, encoding, file).encode()
    segments = _Reader(data, file, languages, everything, placeholders).segments()
    return Document(data, encoding, sorted(segments, key=lambda segment: segment.target.start))


@dataclass(eq=False)
class _Element:
    """An element, open or closed."""

    name: str  # without its namespace if that is the root's, otherwise empty
    attributes: dict[str, str]
    namespaces: dict[str, str]  # that hold in it, by the attribute that declares them: xmlns or xmlns:prefix
    is_structure: bool  # it is of a kind that has segments in it, and so are all around it
    translate: str  # "no": is not to be translated
    is_approved: bool
    line: int
    content: slice
    has_elements: bool = False
    parts: dict[str, list[_Element]] = field(default_factory=dict)  # what pairs are made of

    def add(self, name: str, part: _Element) -> None:
        self.parts.setdefault(name, []).append(part)

    def first(self, name: str) -> _Element | None:
        return self.parts.get(name, [None])[0]


Pair = tuple[_Element | None, _Element | None]
"""The elements with the source and the target of a segment."""


class _Format:
    """A kind of file: where its segments are."""

    structure: frozenset[str]  # the elements that have segments in them

    def closed(self, element: _Element, around: Sequence[_Element]) -> Iterable[Pair]:
        """Yield the pairs in an element at its end, or note it if it is part of one with those ``around`` it."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise WeftError at the end of a file in which nothing is what was asked for."""


class _Xliff1(_Format):
    structure = frozenset({"xliff", "file", "body", "group", "trans-unit"})

    def closed(self, element: _Element, around: Sequence[_Element]) -> Iterable[Pair]:
        if element.name in {"source", "seg-source", "target"} and around[-1].is_structure:
            around[-1].add(element.name, element)
        elif _marks_segment(element):
            for outer in reversed(around):
                if outer.name in {"seg-source", "target"}:
                    outer.add(element.attributes.get("mid", ""), element)
                if outer.name in {"seg-source", "target"} or _marks_segment(outer):
                    break
        elif element.name == "trans-unit" and element.is_structure:
            source, target, segmented = map(element.first, ("source", "target", "seg-source"))
            if target is not None and not target.parts:
                yield source, target
            elif target is not None and segmented is not None:
                yield from ((segmented.first(number), marks[0]) for number, marks in target.parts.items())


def _marks_segment(element: _Element) -> bool:
    return element.name == "mrk" and element.attributes.get("mtype") == "seg"


class _Xliff2(_Format):
    structure = frozenset({"xliff", "file", "group", "unit", "segment"})

    def closed(self, element: _Element, around: Sequence[_Element]) -> Iterable[Pair]:
        if element.name in {"source", "target"} and around[-1].is_structure:
            around[-1].add(element.name, element)
        elif element.name == "segment" and element.is_structure:
            yield element.first("source"), element.first("target")


class _Tmx(_Format):
    structure = frozenset({"tmx", "body", "tu", "tuv"})

    def __init__(self, languages: Languages | None, file: str) -> None:
        self._languages, self._file = languages, file
        self._others: set[str] | None = set()  # languages of the file, until a pair is found

    def check(self) -> None:
        if self._languages is not None and self._others:
            there = ", ".join(sorted(self._others))
            raise WeftError(f"{self._file}: no unit has both {' and '.join(self._languages)}; there are {there}")

    def closed(self, element: _Element, around: Sequence[_Element]) -> Iterable[Pair]:
        if element.name in {"header", "tuv", "seg"} and around[-1].is_structure:
            around[-1].add(element.name, element)
        elif element.name == "tu" and element.is_structure:
            yield from self._pairs(element, around[0].first("header"))

    def _pairs(self, unit: _Element, header: _Element | None) -> Iterable[Pair]:
        wanted, other = self._languages or (self._source_language(unit, header), None)
        variants = [(_language(variant), variant.first("seg")) for variant in unit.parts.get("tuv", [])]
        source = next((segment for language, segment in variants if _is_same(language, wanted)), None)
        for language, segment in variants:
            if not _is_same(language, wanted) and (other is None or _is_same(language, other)):
                yield source, segment
                self._others = None if source is not None else self._others
            if self._others is not None and len(self._others) < _MOST_LANGUAGES:
                self._others.add(language[:20])

    def _source_language(self, unit: _Element, header: _Element | None) -> str:
        for element in (unit, header):
            language = element.attributes.get("srclang") if element else None
            if language and language != "*all*":
                return language
        place = f"{self._file}:{unit.line}"
        raise WeftError(f"{place}: nothing says which language is the source; name two, as in --languages en de")


def _language(variant: _Element) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _is_same(language: str, other: str) -> bool:
    """Tell whether one is the other or a variety of it: en and EN-us, but not en-GB and en-US."""
    return is_language(language, other) or is_language(other, language)


class _Reader:
    """Follows expat through a file and collects its segments."""

    def __init__(
        self, data: bytes, file: str, languages: Languages | None, everything: bool, placeholders: bool
    ) -> None:
        self._data, self._file, self._languages = data, file, languages
        self._everything, self._placeholders = everything, placeholders
        self._open: list[_Element] = []
        self._namespace = ""  # of the root
        self._format: _Format = _Xliff1()  # until the root says otherwise
        self._segments: list[Segment] = []
        self._parser = parser = expat.ParserCreate("UTF-8")  # not by namespaces: some files use undeclared ones
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def segments(self) -> list[Segment]:
        """Return all segments."""
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError as error:
            raise self._error(f"not well-formed XML: {expat.ErrorString(error.code)}") from None
        self._format.check()
        return self._segments

    def _error(self, problem: str) -> WeftError:
        return WeftError(f"{self._file}:{self._parser.CurrentLineNumber}: {problem}")

    def _doctype(self, name: str, system: str | None, public: str | None, has_definitions: int) -> None:
        if has_definitions:
            raise self._error("its DOCTYPE defines entities or the like, between [ and ]; take that out")

    def _start(self, full_name: str, attributes: dict[str, str]) -> None:
        if len(self._open) == _MOST_DEPTH:
            raise self._error(f"more than {_MOST_DEPTH} elements within one another")
        parent = self._open[-1] if self._open else None
        namespaces = parent.namespaces if parent else {}
        declared = {name: value for name, value in attributes.items() if name.partition(":")[0] == "xmlns"}
        if declared:
            namespaces = {**namespaces, **declared}
            if len(namespaces) > _MOST_NAMESPACES:
                raise self._error(f"more than {_MOST_NAMESPACES:,} namespaces")
        prefix, _, name = full_name.rpartition(":")
        namespace = namespaces.get(f"xmlns:{prefix}" if prefix else "xmlns", prefix)
        if parent is None:
            self._namespace, self._format = namespace, self._recognise(name, attributes)
        else:
            parent.has_elements = True
        name = name if namespace == self._namespace else ""
        is_structure = name in self._format.structure and (parent is None or parent.is_structure)
        translate = attributes.get("translate", parent.translate if parent else "yes")
        approved = attributes.get("approved") == "yes" or attributes.get("state") in {"final", "signed-off"}
        is_approved = approved or (parent is not None and parent.is_approved)
        tag = _START_TAG.match(self._data, self._parser.CurrentByteIndex)
        assert tag is not None  # as expat has seen one there
        line, content = self._parser.CurrentLineNumber, slice(tag.end(), tag.end())
        self._open.append(_Element(name, attributes, namespaces, is_structure, translate, is_approved, line, content))

    def _recognise(self, root: str, attributes: dict[str, str]) -> _Format:
        """Tell from its root what kind of file this is."""
        if root == "tmx":
            return _Tmx(self._languages, self._file)
        if root != "xliff":
            raise self._error(f"neither XLIFF nor TMX, but <{root[:50]}>")
        if self._languages is not None:
            raise WeftError(f"{self._file}: XLIFF itself says which language is the source; leave out --languages")
        return _Xliff1() if attributes.get("version", "1").startswith("1") else _Xliff2()

    def _end(self, full_name: str) -> None:
        element = self._open.pop()
        start = element.content.start
        if not self._data.endswith(b"/>", 0, start):
            element.content = slice(start, self._parser.CurrentByteIndex)
        for source, target in self._format.closed(element, self._open):
            if source is not None and target is not None:
                self._add(source, target)

    def _add(self, source: _Element, target: _Element) -> None:
        """Make a segment of a pair if markup has to go from one to the other, and can."""
        if not (source.has_elements or self._placeholders) or target.translate == "no":
            return
        if target.is_approved and not self._everything:
            return
        if source.namespaces != target.namespaces:  # where tags may mean something else
            return
        markup, place = self._data[source.content].decode(), f"{self._file}:{target.line}"
        try:
            self._check_prefixes(markup, source.namespaces)
            theirs = parse_markup(self._data[target.content].decode(), "xliff")
            ours = parse_markup(markup, "xliff", (), theirs.text if self._placeholders else None)
        except WeftError as error:
            raise WeftError(f"{place}: {error}") from None
        if theirs.text.strip() and ours.elements and (self._everything or _lacks_tags(ours, theirs)):
            self._segments.append(Segment(markup, target.content, place))

    def _check_prefixes(self, markup: str, namespaces: dict[str, str]) -> None:
        """Raise WeftError for codes with a prefix: what is in them would be taken for text."""
        for name, namespace in namespaces.items():
            prefix = re.escape(name.partition(":")[2])
            if prefix and namespace == self._namespace and (code := re.search(rf"<{prefix}:({_CODE_NAMES})\b", markup)):
                raise WeftError(
                    f"{code[0]}>: codes with a prefix are not understood; write <{code[1]}>, and declare the namespace "
                    f"as xmlns instead of {name}"
                )


def _lacks_tags(source: Marked, target: Marked) -> bool:
    """Tell whether a target lacks tags of its source, and has no remarks of its own, which a transfer takes out."""
    ours, theirs = (
        Counter(tag for element in side.elements for tag in (element.opening, element.closing) if tag)
        for side in (source, target)
    )
    if any(map(_REMARK.match, theirs - ours)):
        return False
    return any(not tag.startswith(("<!", "<?")) for tag in ours - theirs)
