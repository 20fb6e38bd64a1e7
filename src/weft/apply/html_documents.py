"""HTML pages and fragments: the segments of a page, and the page with translations in their place.

Segments are what stands between the tags of blocks, such as paragraphs and cells; tags within them are inline. No tree
is built and written again: what is not part of a segment stays as it is, byte for byte. (Tags are found here and not by
``html.parser``, whose time can grow with the square of a page's size.)
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.apply.documents import Document, Segment, decode_document, encoding_of, read_document
from weft.apply.markup import VOID, Marked, parse_markup
from weft.errors import WeftError

_MOST_BYTES = 1 << 27
_ENCODING = re.compile(rb"""<(?:meta\s[^<>]*?charset|\?xml\s[^<>]*?encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_ENCODING_WITHIN = 1 << 10  # bytes, as in browsers
_BROWSERS_TAKE = {"iso8859-1": "cp1252", "ascii": "cp1252"}
_TOKEN = re.compile(
    r"""<!--.*?(?:-->|\Z)
    | <(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*)(?P<attributes>(?:=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))|[^>])*+)(?:>|\Z)
    | <[!?/][^>]*(?:>|\Z)""",
    re.DOTALL | re.VERBOSE,
)  # what has no end goes on to the end of the page, as in browsers: so nothing is looked at twice
_LINE_END = re.compile(r"(?<=\S)(?=<br[\s/>])", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([^\s=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S*)))?""")


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_BLOCKS = _names(
    "address article aside blockquote body caption center col colgroup dd details dialog div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav noframes "
    "noscript ol optgroup option p pre search section summary table tbody td template tfoot th thead title tr ul"
)
_NO_TEXT = _names("audio canvas iframe math noframes object script style svg template textarea video")
"""Elements that are taken as they are."""
_VERBATIM = _names("code kbd pre samp var")
"""Elements whose text is not translated: a segment that has no other text is left alone."""
_WITHOUT_TAGS = _names("iframe noframes script style textarea title")  # in them, < is text
_END_OF_PAGE = "/"  # no name of an element
_OPTIONAL_ENDS = {  # elements that may end where one of these begins, or where what they are part of ends
    "li": (_names("li"), _names("ul ol menu")),
    "dt": (_names("dt dd"), _names("dl")),
    "dd": (_names("dt dd"), _names("dl")),
    "td": (_names("td th tr tbody tfoot"), _names("table")),
    "th": (_names("td th tr tbody tfoot"), _names("table")),
    "tr": (_names("tr tbody tfoot"), _names("table")),
}


@dataclass(frozen=True)
class HtmlTags:
    """Which elements are what, beside what HTML says."""

    ignore_tags: Collection[str] = ()
    """Elements that are taken as they are."""
    splitting_tags: Collection[str] = ()
    """Elements that are blocks."""
    non_splitting_tags: Collection[str] = ()
    """Elements that are inline."""


class Page:
    """A page and the places of its segments."""

    def __init__(
        self, file: str, text: str, encoding: str, segments: Sequence[slice], ignore_tags: frozenset[str]
    ) -> None:
        """``file`` is the page's name, for errors."""
        self._file, self._text, self._encoding, self._segments = file, text, encoding, segments
        self.ignore_tags = ignore_tags

    def lines(self) -> Iterator[str]:
        """Yield the text of each segment without markup, in one line."""
        for number, place in enumerate(self._segments, 1):
            yield " ".join(self._parse(self._source(place), number).text.split())

    def translated(self, translations: Sequence[str], file: str, placeholders: bool = False) -> Document:
        """Return the page with translations, which are plain text, one for each segment.

        Those of segments with markup can have it transferred. Where a translation is empty, the page stays as it is.
        ``file`` is where they come from, for messages. With ``placeholders``, those that a translation lacks are
        markup.
        """
        if len(translations) != len(self._segments):
            raise WeftError(
                f"{file} has {len(translations):,} lines, but {self._file} {len(self._segments):,} segments; "
                "translate line by line what --extract writes"
            )
        parts: list[bytes] = []
        segments: list[Segment] = []
        size = last = 0
        for number, (place, translation) in enumerate(zip(self._segments, translations, strict=True), 1):
            source, target = self._source(place), html.escape(translation.strip(), quote=False)
            before, after = self._text[last : place.start].encode(), (target or self._text[place]).encode()
            parts += before, after
            size += len(before) + len(after)
            last = place.stop
            if target and self._parse(source, number, translation if placeholders else None).elements:
                segments.append(Segment(source, slice(size - len(after), size), f"{file}:{number}"))
        return Document(b"".join([*parts, self._text[last:].encode()]), self._encoding, segments)

    def _source(self, place: slice) -> str:
        """Return a segment as it is written, but with a space where a line ends."""
        return _LINE_END.sub(" ", self._text[place])

    def _parse(self, segment: str, number: int, translation: str | None = None) -> Marked:
        try:
            return parse_markup(segment, "html", self.ignore_tags, translation)
        except WeftError as error:
            raise WeftError(f"{self._file}: segment {number:,}: {error}") from None


def read_page(file: str, tags: HtmlTags) -> Page:
    """Read a page: its segments that have text to translate. Raises WeftError."""
    return parse_page(read_document(file, _MOST_BYTES), file, tags)


def parse_page(data: bytes, file: str, tags: HtmlTags) -> Page:
    """Return what ``read_page`` does, from the bytes of a page; ``file`` is its name, for errors."""
    encoding = encoding_of(data[:_ENCODING_WITHIN], _ENCODING, file)
    encoding = _BROWSERS_TAKE.get(encoding, encoding)
    text = decode_document(data, encoding, file)
    ignored = _NO_TEXT.union(map(str.lower, tags.ignore_tags))
    blocks = _BLOCKS.union(map(str.lower, tags.splitting_tags)).difference(map(str.lower, tags.non_splitting_tags))
    return Page(file, text, encoding, list(_segments(text, blocks, ignored)), ignored)


class _Tag(NamedTuple):
    """A tag, a comment or a declaration."""

    place: slice
    name: str  # in lower case; empty if it is no tag
    is_end: bool
    attributes: str


def _tags(text: str) -> Iterator[_Tag]:
    """Yield everything that is no text, and the end of the page."""
    place = 0
    while token := _TOKEN.search(text, place):
        name, is_end = (token["name"] or "").lower(), bool(token["end"])
        yield _Tag(slice(*token.span()), name, is_end, token["attributes"] or "")
        place = token.end()
        if name in _WITHOUT_TAGS and not is_end:
            end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, place)
            place = end.start() if end else len(text)
    yield _Tag(slice(len(text), len(text)), _END_OF_PAGE, True, "")


def _segments(text: str, blocks: frozenset[str], ignored: frozenset[str]) -> Iterator[slice]:
    """Yield the places of the segments."""
    start = last = 1 if text.startswith("\ufeff") else 0  # of the segment; and the end of the last tag
    has_text = False
    scopes = [_Scope(_END_OF_PAGE, True, blocks)]
    for tag in _tags(text):
        if scopes[-1].is_translated and html.unescape(text[last : tag.place.start]).strip():
            has_text = True
        last = tag.place.stop
        if tag.name in blocks or tag.name == _END_OF_PAGE:
            if has_text:
                yield _without_margins(text, start, tag.place.start)
            start, has_text = last, False
        while len(scopes) > 1 and scopes[-1].ends_at(tag):
            scopes.pop()
        if tag.name and not tag.is_end and not tag.attributes.endswith("/") and tag.name not in VOID:
            translates = _translates(tag, ignored)
            if translates is not None:
                scopes.append(_Scope(tag.name, translates, blocks))


def _without_margins(text: str, start: int, end: int) -> slice:
    """Return a place without the white space at its borders."""
    inner = text[start:end]
    return slice(end - len(inner.lstrip()), start + len(inner.rstrip()))


def _translates(tag: _Tag, ignored: frozenset[str]) -> bool | None:
    """Tell whether the text of an element is to be translated; None: if that around it is."""
    attributes = tag.attributes.lower()
    if "translate" in attributes:
        values = {match[1]: match[2] or match[3] or match[4] or "" for match in _ATTRIBUTE.finditer(attributes)}
        if "notranslate" in values.get("class", "").split():
            return False
        if "translate" in values:
            return values["translate"] != "no"
    return False if tag.name in ignored or tag.name in _VERBATIM else None


class _Scope:
    """An open element that says whether its text is translated."""

    def __init__(self, name: str, is_translated: bool, blocks: frozenset[str]) -> None:
        self.is_translated = is_translated
        self._name = name
        self._siblings, self._containers = _OPTIONAL_ENDS.get(name, (_names(""), _names(name)))
        if name == "p":
            self._siblings = self._containers = blocks
        self._depth = 0  # of containers that began within it

    def ends_at(self, tag: _Tag) -> bool:
        """Tell whether it ends where this tag is."""
        if tag.is_end:
            if not self._depth and (tag.name == self._name or tag.name in self._containers):
                return True
        elif not self._depth and tag.name in self._siblings:
            return True
        if tag.name in self._containers:
            self._depth += -1 if tag.is_end else 1
        return False
