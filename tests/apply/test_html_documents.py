"""HTML pages: which segments are found, and that nothing but them changes."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.apply.html_documents import HtmlTags, Page, parse_page
from weft.apply.markup import parse_markup
from weft.errors import WeftError


def parse(text: str, **tags: tuple[str, ...]) -> Page:
    return parse_page(text.encode(), "page", HtmlTags(**tags))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("just text", ["just text"]),
        ("\ufeff \n", []),
        ("<p>One <b>two</b></p> <P>three<p>four", ["One two", "three", "four"]),
        ("<ul><li>One<li>two</ul><table><td>three<td>four</table>", ["One", "two", "three", "four"]),
        ("<div>One<p>two</p>three</div>", ["One", "two", "three"]),
        ("<p>One\n  two<br>three <img alt='x'>four</p>", ["One two three four"]),
        ("<p>a &lt; b &amp;&nbsp;c &eacute;</p><td>&nbsp;</td>", ["a < b & c é"]),
        ("<p>a < b, <3, 1<2 </p>", ["a < b, <3, 1<2"]),
        ("<!DOCTYPE html><html><head><title>One</title><meta charset=utf-8></head><body>two", ["One", "two"]),
        ("<a href='x'><h1>One</h1></a>", ["One"]),
        ("<p title='<p>x</p>' data-a=\"</p>\">One</p>", ["One"]),
        ("<p>One <my-part>two</my-part></p>", ["One two"]),
        # neither comments nor code are text
        ("<!-- <p>x</p> --><p>One<!-- x --></p><!-- <p>", ["One"]),
        ("<script>if (a<b) '<p>x</p>'</script><style>p > a {}</style><p>One<script>x</script></p>", ["One"]),
        ("<script>'<p>x</p>'", []),
        ("<p>One<?php echo '<p>' ?></p>", ["One"]),
        ("<pre>x <b>y</b></pre><p>One</p><textarea><p>x</textarea>", ["One"]),
        ("<p>Run <code>ls</code> now</p><td><code>ls</code></td><td><kbd>x</kbd> </td>", ["Run ls now"]),
        ("<p>One <svg><text>x</text></svg> <video>x</video></p>", ["One"]),
        # what is not to be translated
        (
            "<p translate=no>x</p><p translate='NO'>x</p><p translate=\"yes\">One</p><p translate>two</p>",
            ["One", "two"],
        ),
        ("<p class='a notranslate'>x</p><p class=notranslated>One</p>", ["One"]),
        ("<p>One <b translate=no>weft</b></p><p><b translate=no>weft</b></p>", ["One weft"]),
        ("<div translate=no>x<div>x</div>x</div>One", ["One"]),
        ("<div translate=no>x<div translate=yes>One</div>x</div>", ["One"]),
        ("<p translate=no>x<p>One<p translate=no>x<div>two</div>", ["One", "two"]),
        ("<div><p translate=no>x</div>One", ["One"]),
        ("<ul><li translate=no>x<ul><li>x</ul>x<li>One</ul>", ["One"]),
        ("<ul><li translate=no>x</ul>One", ["One"]),
        ("<table><tr><td translate=no>x<td>One<tr translate=no><td>x<tr><td>two</table>", ["One", "two"]),
        ("<dl><dt translate=no>x<dd>One</dl>", ["One"]),
        ("<img translate=no>One<br class=notranslate>", ["One"]),
        ("<svg/>One", ["One"]),
        ("<p title='translate=no'>One</p>", ["One"]),
        ("<html translate=no><p>x", []),
    ],
)
def test_segments(text: str, expected: list[str]) -> None:
    page = parse(text)
    assert list(page.lines()) == expected
    assert page.translated([""] * len(expected), "lines").with_targets([]) == text.encode()  # without translations


def test_blocks_are_chosen() -> None:
    text = "<p>One<br>two <code>three</code> <x-y>four</x-y></p>"
    assert list(parse(text, splitting_tags=("BR",)).lines()) == ["One", "two three four"]
    assert list(parse(text, ignore_tags=("code", "x-y")).lines()) == ["One two"]
    assert list(parse("One<p>two</p>three", non_splitting_tags=("p",)).lines()) == ["Onetwothree"]


def test_translations_take_the_place_of_segments() -> None:
    text = "<h1> Old </h1>\r\n<p class='x'>The <b>old</b> house &amp; <br>I</p><p>left</p><p>A <i>b</i></p>"
    document = parse(text).translated(["Alt", " Das alte Haus < & > ich", "", ""], "lines")
    plain = "<h1> Alt </h1>\r\n<p class='x'>Das alte Haus &lt; &amp; &gt; ich</p><p>left</p><p>A <i>b</i></p>"
    pair = ("The <b>old</b> house &amp; <br>I", "Das alte Haus &lt; &amp; &gt; ich")
    assert list(document.pairs()) == [pair]
    assert document.with_targets([pair[1]]) == plain.encode()
    assert document.with_targets(["<b>Ä</b>"]) == plain.replace(pair[1], "<b>Ä</b>").encode()


def test_there_must_be_a_translation_for_each_segment() -> None:
    with pytest.raises(WeftError, match=r"lines has 1 lines, but page 2 segments; translate line by line"):
        parse("<p>One<p>two").translated(["Eins"], "lines")


@pytest.mark.parametrize(
    ("mark", "begin", "codec", "written"),
    [
        (b"", "<meta charset=iso-8859-1>", "cp1252", "“ß” &#321;"),  # as browsers read it
        (b"", "<?xml version='1.0' encoding='koi8-r'?>", "koi8-r", "&#8220;&#223;&#8221; &#321;"),
        (codecs.BOM_UTF16_LE, "", "utf-16-le", "“ß” Ł"),
        (codecs.BOM_UTF8, "<meta charset=koi8-r>", "utf-8", "“ß” Ł"),
        (b"", f"<!-- {' ' * 2_000} --><meta charset=koi8-r>", "utf-8", "“ß” Ł"),  # too late to be seen
    ],
)
def test_encodings(mark: bytes, begin: str, codec: str, written: str) -> None:
    page = parse_page(mark + f"{begin}<p>one</p>".encode(codec), "page", HtmlTags())
    document = page.translated(["“ß” Ł"], "lines")
    assert document.with_targets([]) == mark + f"{begin}<p>{written}</p>".encode(codec)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"<p>\xff", "page: is not valid utf-8 at byte 4; convert it"),
        (b"<meta http-equiv=x content='text/html; charset=x-nonsense'>", "page: cannot be read as 'x-nonsense'"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(WeftError, match=problem):
        parse_page(data, "page", HtmlTags())


def test_segments_with_too_many_tags_are_named() -> None:
    page = parse(f"<p>One</p><p>{'<br>' * 10_001}two</p>")
    for use in (lambda: list(page.lines()), lambda: page.translated(["Eins", "zwei"], "lines")):
        with pytest.raises(WeftError, match="page: segment 2: a segment with more than 10,000 tags"):
            use()


_TAGS = ["<b>", "</b>", "<br/>", "<!-- <p> -->", "<code>x</code>", "<a href='<p>'>", "</a>"]
_SEGMENT = st.lists(st.sampled_from([*_TAGS, "&amp;", "a", "ä b", " ", "< "]), max_size=8).map(
    lambda parts: f"{''.join(parts)} a".strip()
)
_BORDER = st.sampled_from(
    ["<p>", "</div>\n", " <li class='>'>", "<pre>x</pre>", "<hr>", "<p translate=no>x</p>", "<td></td>"]
)


@given(st.lists(st.tuples(_BORDER, _SEGMENT), max_size=6))
@settings(max_examples=300)
def test_random_pages_stay_the_same_outside_of_segments(parts: list[tuple[str, str]]) -> None:
    page = parse("".join(border + segment for border, segment in parts))
    translations = [f"T{number}" for number in range(len(parts))]
    document = page.translated(translations, "lines")
    targets = [target for _, target in document.pairs()]
    expected = "".join(border + one for (border, _), one in zip(parts, translations, strict=True))
    assert document.with_targets(targets) == expected.encode()
    sources = [source.replace(" <br/>", "<br/>") for source, _ in document.pairs()]
    assert sources == [segment.replace(" <br/>", "<br/>") for _, segment in parts if parse_markup(segment).elements]


@pytest.mark.parametrize(
    "part", ["<!--", "<a ", "<a b='' ", "<a b='", "</", "<![CDATA[", "<script>", "<p translate=no>", "x<p>"]
)
def test_time_is_linear(part: str) -> None:
    """A square of this size would take hours."""
    assert parse(part * 100_000) is not None


def test_damaged_pages_are_read_or_refused() -> None:
    text = (
        "<!DOCTYPE html><html><head><title>A</title><script>x<y</script></head><body translate=yes><p>a <b>ä</b> c</p>"
    )
    text += "<ul><li translate=no>x<li class='y'>z &amp; </ul><!-- c --><pre>p</pre></body></html>"
    generator, read = random.Random(7), 0
    for _ in range(2_000):
        data = bytearray(text.encode())
        for _ in range(generator.choice([1, 2, 8])):
            place = generator.randrange(len(data))
            data[place : place + generator.choice([0, 1, 20])] = generator.choice(
                [b"", b"<", b">", b"'", b"&", b"\0", b"\xe4", b"</", b"<!--", b"=", data[:30]]
            )
        try:
            page = parse_page(bytes(data), "page", HtmlTags())
            lines = list(page.lines())
            assert page.translated([""] * len(lines), "lines").with_targets([]) == data
            read += 1
        except WeftError as error:
            assert "is not valid utf-" in str(error)
    assert 500 < read < 2_000
