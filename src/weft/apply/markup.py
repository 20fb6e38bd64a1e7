"""Inline markup of one segment: its text, its elements and their places, every tag as it is written.

Nothing is interpreted: no entity but characters is expanded, nothing is loaded, and what is not understood is text.
Time is linear in the length of the segment.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from weft.errors import WeftError

TagHandling = Literal["html", "xml", "xliff", "markdown"]
"""What is markup: tags of HTML, of XML, or of XLIFF and TMX, whose inline elements may hold code; or Markdown."""

_NAME = r"[^\W\d][\w:.-]*"
_ATTRIBUTES = r"""(?:[^"'<>/]|"[^"]*"|'[^']*'|/(?!>))*+"""
_TAG = rf"<(?P<close>/?)(?P<name>{_NAME})(?P<attributes>{_ATTRIBUTES})(?P<empty>/?)>"
_OTHER = r"<!--(?:.*?)-->|<\?(?:.*?)\?>|<![A-Za-z][^<>]*>"  # comments, instructions, declarations
_DATA = r"<!\[CDATA\[(?P<data>.*?)\]\]>"
_ENTITY = r"&(?P<entity>\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31});"
_XML = re.compile(rf"{_TAG}|{_DATA}|{_OTHER}|{_ENTITY}", re.DOTALL)
_MARKDOWN = re.compile(
    r"(?P<image>!\[[^\[\]\n]*\]\([^()\s]*\))|(?P<link>\[)(?=[^\[\]\n]+\]\([^()\s]*\))|(?P<target>\]\([^()\s]*\))"
    r"|(?P<mark>\*\*\*|\*\*|\*|~~|`+|(?<!\w)__?|__?(?!\w))|\\[!-/:-@\[-`{-~]"
)
PLACEHOLDER = re.compile(
    r"\{\{[^{}]*\}\}|\$?\{[^{}\s]*\}|(?<![\w%])%(?:\([^()\s]*\)|\d+\$)?\d*(?:\.\d+)?l{0,2}[sdifuxXcg@](?![^\W_])"
)
"""What stands for something that a program puts in: ``{0}``, ``{{name}}``, ``${name}``, ``%s``, ``%1$d``."""

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)  # of HTML
_CODE = frozenset(  # of XLIFF and TMX: content is not text
    ("bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp")
)
_BEGINNINGS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}  # of spans whose ends are elements of their own
_PREDEFINED = frozenset(("amp", "lt", "gt", "quot", "apos"))
_REFERENCE = re.compile(r"""\b(startRef|rid|id|i|pos|isolated)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_MOST_ELEMENTS = 10_000


class Element(NamedTuple):
    """A tag, or two tags and what is between them."""

    opening: str
    closing: str | None
    """None for a tag that stands alone."""
    start: int
    """Its place in the text, which is before the character of this number."""
    end: int
    leans: Literal["left", "right", "both"] = "both"
    """To which of its neighbours a tag that stands alone belongs."""
    crosses: bool = False
    """It may overlap other elements: its tags are elements of their own, such as ``<bx/>`` and ``<ex/>``."""
    parent: int | None = None
    """The number of the innermost element around it, if any; it is in that one, whatever its place."""

    @property
    def is_span(self) -> bool:
        """True if there is text between its two tags."""
        return self.closing is not None and self.end > self.start


@dataclass(frozen=True)
class Marked:
    """A segment: its text without markup, its elements in the order of their first tags, and how it is written."""

    text: str
    elements: tuple[Element, ...]
    written: str
    """The segment without its tags, with its entities."""
    places: tuple[int, ...] | None = None
    """The place in ``written`` of each character, and of the end; None if both texts are the same."""

    def place(self, character: int) -> int:
        """Return where a character of the text is written."""
        return character if self.places is None else self.places[character]


class _Tag(NamedTuple):
    raw: str
    place: int
    kind: Literal["open", "close", "alone"]
    partner: str
    """What the two tags of an element have in common."""
    crosses: bool = False
    leans: Literal["left", "right", "both"] = "both"


def parse_markup(
    segment: str, handling: TagHandling = "html", ignore_tags: Iterable[str] = (), translation: str | None = None
) -> Marked:
    """Split a segment into text and elements.

    Elements of ``ignore_tags`` are taken as they are with all that they contain, which is no text. Placeholders such as
    ``{0}`` and ``%s`` are elements if they are missing in the text of ``translation``, otherwise text.
    """
    reader = _Reader(handling, frozenset(ignore_tags), translation)
    (reader.read_markdown if handling == "markdown" else reader.read_xml)(segment)
    return reader.marked()


class _Reader:
    """Collects text and tags of a segment."""

    def __init__(self, handling: TagHandling, ignored: frozenset[str], translation: str | None) -> None:
        self._handling, self._ignored, self._translation = handling, ignored, translation
        self._text: list[str] = []
        self._written: list[str] = []
        self._places: list[int] = []
        self._length = self._size = 0  # of the text and of what is written
        self._same = True
        self._tags: list[_Tag] = []

    def _add(self, text: str, written: str | None = None) -> None:
        if written is None:
            self._places += range(self._size, self._size + len(text))
            written = text
        else:  # a character that is written in several
            self._places += [self._size] * len(text)
            self._same = False
        self._text.append(text)
        self._written.append(written)
        self._length += len(text)
        self._size += len(written)

    def _add_text(self, text: str) -> None:
        last = 0
        for match in PLACEHOLDER.finditer(text) if self._translation is not None else ():
            if match[0] not in (self._translation or ""):
                self._add(text[last : match.start()])
                spaced = (
                    text[match.start() - 1 : match.start()].isspace() and text[match.end() : match.end() + 1].isspace()
                )
                self._tag(f"{match[0]} " if spaced else match[0], "alone")  # a word of its own stays one
                last = match.end()
        self._add(text[last:])

    def _tag(self, raw: str, kind: Literal["open", "close", "alone"], partner: str = "", **more: Any) -> None:
        if len(self._tags) == _MOST_ELEMENTS:
            raise WeftError(f"a segment with more than {_MOST_ELEMENTS:,} tags: is it one sentence?")
        self._tags.append(_Tag(raw, self._length, kind, partner, **more))

    def read_xml(self, segment: str) -> None:
        last = 0
        matches = _XML.finditer(segment)
        for match in matches:
            if match.start() < last:  # inside an element that was taken as it is
                continue
            self._add_text(segment[last : match.start()])
            last = match.end()
            if match["name"]:
                last = self._read_tag(segment, match)
            elif match["entity"]:
                self._add(self._character(match["entity"], match[0]), match[0])
            elif match["data"] is not None:
                self._add_data(match["data"])
            else:
                self._tag(match[0], "alone")
        self._add_text(segment[last:])

    def _character(self, entity: str, raw: str) -> str:
        if entity[0] != "#" and self._handling != "html" and entity not in _PREDEFINED:
            return raw
        return html.unescape(raw)

    def _add_data(self, data: str) -> None:
        """Add text that is written without entities. It is written with them from now on, as tags may come into it."""
        for part in re.split("([&<>])", data):
            self._add(part, html.escape(part)) if part in ("&", "<", ">") else self._add(part)

    def _read_tag(self, segment: str, match: re.Match[str]) -> int:
        """Take a tag, or a whole element whose content is no text. Returns where it ends."""
        name = match["name"].lower() if self._handling == "html" else match["name"]
        is_code = self._handling == "xliff" and name in _CODE
        raw, end = match[0], match.end()
        if (is_code or name in self._ignored) and not match["close"] and not match["empty"]:
            end = _end_of_element(segment, name, end)
            raw = segment[match.start() : end]
        if is_code:
            self._read_code(raw, name, match["attributes"])
        elif match["close"]:
            self._tag(raw, "close", name)
        elif match["empty"] or name in self._ignored or (self._handling == "html" and name in _VOID):
            self._tag(raw, "alone")
        else:
            self._tag(raw, "open", name)
        return end

    def _read_code(self, raw: str, name: str, attributes: str) -> None:
        found = {one[1]: one[2] or one[3] or "" for one in _REFERENCE.finditer(attributes)}
        if name in _BEGINNINGS and found.get("isolated") != "yes":
            partner = found.get("rid") or found.get("i") or found.get("id") or ""
            self._tag(raw, "open", f"{_BEGINNINGS[name]} {partner}", crosses=True)
        elif name in _BEGINNINGS.values() and found.get("isolated") != "yes":
            partner = found.get("startRef") or found.get("rid") or found.get("i") or found.get("id") or ""
            self._tag(raw, "close", f"{name} {partner}", crosses=True)
        elif name == "cp":  # a character that XML cannot have
            self._add("\ufffd", raw)
        else:
            side = {"begin": "right", "open": "right", "end": "left", "close": "left"}.get(found.get("pos", ""), "both")
            self._tag(raw, "alone", leans=side)

    def read_markdown(self, segment: str) -> None:
        last, code = 0, ""
        open_marks: Counter[str] = Counter()
        for match in _MARKDOWN.finditer(segment):
            mark = match["mark"] or ""
            if code and mark != code:  # inside code everything is text
                continue
            self._add_text(segment[last : match.start()])
            last = match.end()
            if match["image"]:
                self._tag(match[0], "alone")
            elif match["link"]:
                self._tag(match[0], "open", "link")
            elif match["target"]:
                self._tag(match[0], "close", "link")
            elif not mark:
                self._add(match[0][1], match[0])  # an escaped character
            elif open_marks[mark]:
                open_marks[mark] -= 1
                code = ""
                self._tag(match[0], "close", mark)
            else:
                open_marks[mark] += 1
                code = mark if mark[0] == "`" else ""
                self._tag(match[0], "open", mark)
        self._add_text(segment[last:])

    def marked(self) -> Marked:
        """Return the segment, with each opening tag beside the closing one that belongs to it."""
        text = "".join(self._text)
        places = None if self._same else (*self._places, self._size)
        return Marked(text, tuple(_elements(self._tags, text)), "".join(self._written), places)


def _end_of_element(segment: str, name: str, start: int) -> int:
    """Return where the element ends whose opening tag ends at ``start``; elements of its name may be inside it."""
    depth = 1
    for match in re.finditer(rf"<(/?){re.escape(name)}(?![\w:.-]){_ATTRIBUTES}(/?)>", segment[start:], re.IGNORECASE):
        depth += -1 if match[1] else 0 if match[2] else 1
        if depth == 0:
            return start + match.end()
    return start  # it is not closed: its opening tag stands alone


def _elements(tags: Sequence[_Tag], text: str) -> list[Element]:
    """Join the tags of each element; what has no partner stands alone."""
    found: dict[int, Element] = {}  # by the number of the first tag
    around: dict[int, int | None] = {}  # the last tag that was open at each one
    nested: list[int] = []  # tags that wait for their partner, each inside the one before it
    loose: dict[str, list[int]] = {}  # those that can no longer be nested
    opened: Counter[str] = Counter()  # how often each is among the nested
    for number, tag in enumerate(tags):
        around[number] = None if tag.crosses or not nested else nested[-1]
        if tag.kind == "open" and tag.crosses:
            loose.setdefault(tag.partner, []).append(number)
        elif tag.kind == "open":
            nested.append(number)
            opened[tag.partner] += 1
        elif tag.kind == "close" and opened[tag.partner] and not tag.crosses:
            while tags[nested[-1]].partner != tag.partner:  # it ends before what began inside it
                inner = nested.pop()
                opened[tags[inner].partner] -= 1
                loose.setdefault(tags[inner].partner, []).append(inner)
            first = nested.pop()
            opened[tag.partner] -= 1
            found[first] = Element(tags[first].raw, tag.raw, tags[first].place, tag.place)
        elif tag.kind == "close" and loose.get(tag.partner):
            first = loose[tag.partner].pop()
            found[first] = Element(tags[first].raw, tag.raw, tags[first].place, tag.place, crosses=True)
        else:
            found[number] = _alone(tag, text, "left" if tag.kind == "close" else tag.leans)
    for number in (*nested, *(number for numbers in loose.values() for number in numbers)):
        found[number] = _alone(tags[number], text, "right")
    numbers = {first: number for number, first in enumerate(sorted(found))}
    elements = []
    for first in numbers:
        outer = around[first]
        while outer is not None and (found[outer].closing is None or found[outer].crosses):
            outer = around[outer]
        parent = None if outer is None or found[first].crosses else numbers[outer]
        elements.append(found[first]._replace(parent=parent))
    return elements


def _alone(tag: _Tag, text: str, leans: Literal["left", "right", "both"]) -> Element:
    """Return a tag without partner. What touches a word on one side only belongs to that word."""
    if leans == "both":
        left = tag.place > 0 and not text[tag.place - 1].isspace()
        right = tag.place < len(text) and not text[tag.place].isspace()
        leans = "both" if left == right else "left" if left else "right"
    return Element(tag.raw, None, tag.place, tag.place, leans)
