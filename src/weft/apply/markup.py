"""Inline markup of one segment: its text, its elements and their places, every tag as it is written.

Nothing is interpreted: no entity but characters is expanded, nothing is loaded, and what is not understood is text.
Time is linear in the length of the segment.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from weft.apply.elements import Element, Leaning, Tag, TagKind, join_tags
from weft.errors import WeftError

TagHandling = Literal["html", "xml", "xliff", "markdown"]
"""What is markup: tags of HTML, of XML, or of XLIFF and TMX, whose inline elements may hold code; or Markdown."""

_ATTRIBUTES = r"""(?=[\s/>])(?:[^"'<>/]|"[^"]*"|'[^']*'|/(?!>))*+"""
_TAG = rf"<(?P<close>/?)(?P<name>[^\W\d][\w:.-]*+)(?P<attributes>{_ATTRIBUTES})(?P<empty>/?)>"
_ENDS = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}  # of comments, instructions and plain text
_ENTITY = r"&(?P<entity>\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[^\W\d][\w:.-]{0,63});"
_XML = re.compile(rf"{_TAG}|(?P<begin>{'|'.join(map(re.escape, _ENDS))})|<![A-Za-z][^<>]*>|{_ENTITY}")
_ADDRESS = r'\]\([^()\s]*(?:[ \t]+"[^"\n]*")?\)'  # of a link, with its title
_MARKDOWN = re.compile(
    rf"(?P<image>!\[[^\[\]\n]*{_ADDRESS})|(?P<link>\[)(?=[^\[\]\n]+{_ADDRESS})|(?P<address>{_ADDRESS})"
    r"|(?P<code>`+)|(?P<mark>\*+|~~|_+)|\\[!-/:-@\[-`{-~]"
)
_OPENS, _CLOSES = re.compile(r"(?:[*~]+|(?<![^\W_])_+)(?=\S)"), re.compile(r"(?<=\S)(?:[*~]+|_+(?![^\W_]))")
PLACEHOLDER = re.compile(
    r"\{\{[^{}]*\}\}|\$?\{[^{}\s]*\}|(?<![\w%])%(?:\([^()\s]*\)|\d+\$)?\d*(?:\.\d+)?l{0,2}[sdifuxXcg@](?![^\W_])"
)
"""What stands for something that a program puts in: ``{0}``, ``{{name}}``, ``${name}``, ``%s``, ``%1$d``."""

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
"""Elements of HTML that are a tag alone."""
CODES = frozenset(("bpt", "ept", "it", "ph", "ut", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"))
"""Elements of XLIFF and TMX whose content is not text."""
_BEGINNINGS = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}  # of spans whose ends are elements of their own
_REFERENCE = re.compile(r"""\b(startRef|rid|id|i|pos|isolated)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_UNKNOWN = "\ufffd"  # stands for a character
_MOST_TAGS = 10_000


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


def parse_markup(
    segment: str, handling: TagHandling = "html", ignore_tags: Iterable[str] = (), translation: str | None = None
) -> Marked:
    """Split a segment into text and elements.

    Elements of ``ignore_tags`` are taken as they are with all that they contain, which is no text. Placeholders such as
    ``{0}`` and ``%s`` are elements if they are missing in the text of ``translation``, otherwise text.
    """
    known = None if translation is None else frozenset(PLACEHOLDER.findall(translation))
    reader = _Reader(segment, handling, frozenset(ignore_tags), known)
    (reader.read_markdown if handling == "markdown" else reader.read_xml)()
    return reader.marked()


class _Reader:
    """Collects text and tags of a segment."""

    def __init__(
        self, segment: str, handling: TagHandling, ignored: frozenset[str], known: frozenset[str] | None
    ) -> None:
        self._segment, self._handling, self._ignored = segment, handling, ignored
        self._known = known  # placeholders that are text; None: all are
        self._texts: list[tuple[str, str]] = []  # and how they are written
        self._length = 0
        self._tags: list[Tag] = []
        self._endless: set[str] = set()  # beginnings whose ends are not there
        self._ends: dict[str, dict[int, int]] = {}  # of elements whose content is no text: by name, of each beginning

    def _add(self, text: str, written: str | None = None) -> None:
        if text or written:
            self._texts.append((text, text if written is None else written))
            self._length += len(text)

    def _add_text(self, start: int, end: int) -> None:
        text, last = self._segment[start:end], 0
        for match in PLACEHOLDER.finditer(text) if self._known is not None else ():
            if match[0] not in (self._known or ()):
                self._add(text[last : match.start()])
                last = match.end()
                before, after = text[match.start() - 1 : match.start()], text[last : last + 1]
                self._tag(" " * before.isspace() + match[0] + " " * after.isspace(), "alone")
        self._add(text[last:])

    def _tag(
        self,
        raw: str,
        kind: TagKind,
        partner: str = "",
        crosses: bool = False,
        leans: Leaning = "both",
    ) -> None:
        if len(self._tags) == _MOST_TAGS:
            raise WeftError(f"a segment with more than {_MOST_TAGS:,} tags: is it one sentence?")
        self._tags.append(Tag(raw, self._length, kind, partner, crosses, leans))

    def read_xml(self) -> None:
        last = place = 0
        while match := _XML.search(self._segment, place):
            place = match.end()
            if begin := match["begin"]:
                end = -1 if begin in self._endless else self._segment.find(_ENDS[begin], place)
                if end < 0:
                    self._endless.add(begin)
                    continue
                place = end + len(_ENDS[begin])
            self._add_text(last, match.start())
            if match["name"]:
                place = self._read_tag(match)
            elif match["entity"]:
                self._add(self._character(match[0]), match[0])
            elif begin == "<![CDATA[":
                self._add_data(self._segment[match.end() : place - len("]]>")])
            else:
                self._tag(self._segment[match.start() : place], "alone")
            last = place
        self._add_text(last, len(self._segment))

    def _character(self, entity: str) -> str:
        """Return what an entity most likely stands for. Nothing but where words begin and end depends on it."""
        character = html.unescape(entity)
        return _UNKNOWN if character == entity and self._handling != "html" else character

    def _add_data(self, data: str) -> None:
        """Add text that is written without entities. It is written with them from now on, as tags may come into it."""
        for part in re.split("([&<>])", data):
            self._add(part, html.escape(part, quote=False))

    def _read_tag(self, match: re.Match[str]) -> int:
        """Take a tag, or a whole element whose content is no text. Returns where it ends."""
        name = match["name"].lower() if self._handling == "html" else match["name"]
        is_code = self._handling == "xliff" and name in CODES
        end = match.end()
        if (is_code or name in self._ignored) and not match["close"] and not match["empty"]:
            if name not in self._ends:
                self._ends[name] = _ends_of_elements(self._segment, name)
            end = self._ends[name].get(end, end)  # what is not closed is a tag alone
        raw = self._segment[match.start() : end]
        if is_code:
            self._read_code(raw, name, match["attributes"])
        elif match["close"]:
            self._tag(raw, "close", name)
        elif match["empty"] or name in self._ignored or (self._handling == "html" and name in VOID):
            self._tag(raw, "alone")
        else:
            self._tag(raw, "open", name)
        return end

    def _read_code(self, raw: str, name: str, attributes: str) -> None:
        found = {one[1]: one[2] or one[3] or "" for one in _REFERENCE.finditer(attributes)}
        number = found.get("rid") or found.get("i") or found.get("id") or ""
        if name in _BEGINNINGS and found.get("isolated") != "yes":
            self._tag(raw, "open", f"{_BEGINNINGS[name]} {number}", crosses=True)
        elif name in _BEGINNINGS.values() and found.get("isolated") != "yes":
            self._tag(raw, "close", f"{name} {found.get('startRef') or number}", crosses=True)
        elif name == "cp":  # a character that XML cannot have
            self._add(_UNKNOWN, raw)
        else:
            sides: dict[str, Leaning] = {"begin": "right", "open": "right", "end": "left", "close": "left"}
            self._tag(raw, "alone", leans=sides.get(found.get("pos", ""), "both"))

    def read_markdown(self) -> None:
        last = 0
        for match, kind, partner in _markdown_tags(self._segment):
            self._add_text(last, match.start())
            last = match.end()
            if kind is None:
                self._add(match[0][1], match[0])  # an escaped character
            else:
                self._tag(match[0], kind, partner)
        self._add_text(last, len(self._segment))

    def marked(self) -> Marked:
        """Return the segment, with the tags of each element together."""
        text, written = ("".join(parts) for parts in zip(*self._texts, strict=True)) if self._texts else ("", "")
        elements = tuple(join_tags(self._tags, text))
        if text == written:
            return Marked(text, elements, written)
        places: list[int] = []
        size = 0
        for one, other in self._texts:
            places += range(size, size + len(one)) if one == other else [size] * len(one)
            size += len(other)
        return Marked(text, elements, written, (*places, size))


def _ends_of_elements(segment: str, name: str) -> dict[int, int]:
    """Return where each element of a name ends, by the end of its opening tag; elements of its name may be inside."""
    found, opened = {}, []
    for match in re.finditer(rf"<(/?){re.escape(name)}{_ATTRIBUTES}(/?)>", segment, re.IGNORECASE):
        if match[1] and opened:
            found[opened.pop()] = match.end()
        elif not match[1] and not match[2]:
            opened.append(match.end())
    return found


def _markdown_tags(segment: str) -> Iterator[tuple[re.Match[str], TagKind | None, str]]:
    """Yield what is markup: its place, its kind (None: an escaped character) and what its partner has in common."""
    matches = list(_MARKDOWN.finditer(segment))
    code_ends: dict[str, deque[int]] = defaultdict(deque)  # numbers of matches
    for number, match in enumerate(matches):
        if match["code"]:
            code_ends[match[0]].append(number)
    found: dict[int, tuple[TagKind | None, str]] = {}
    opened: dict[str, list[int]] = defaultdict(list)
    after_code = 0
    for number, match in enumerate(matches):
        form, mark = match.lastgroup, match[0]
        partner = "[" if form == "address" else mark
        if number < after_code:  # inside code, everything is text
            continue
        if form == "code":
            ends = code_ends[mark]
            while ends and ends[0] <= number:
                ends.popleft()
            if ends:
                found[number], found[ends[0]] = ("open", mark), ("close", mark)
                after_code = ends[0] + 1
        elif opened[partner] and (form == "address" or _CLOSES.match(segment, match.start())):
            found[opened[partner].pop()], found[number] = ("open", partner), ("close", partner)
        elif form == "link" or (form == "mark" and _OPENS.match(segment, match.start())):
            opened[partner].append(number)
        elif form in ("image", None):
            found[number] = ("alone" if form else None), ""
    for number, (kind, partner) in sorted(found.items()):
        yield matches[number], kind, partner
