"""What is markup and what is text."""

from __future__ import annotations

import pytest

from weft.apply.markup import Marked, TagHandling, parse_markup
from weft.errors import WeftError


def shown(marked: Marked) -> list[str]:
    """Each element with its text, or with its place if it is a tag alone."""
    return [
        f"{element.opening}{marked.text[element.start : element.end]}{element.closing}"
        if element.closing is not None
        else f"{element.start} {element.opening}"
        for element in marked.elements
    ]


@pytest.mark.parametrize(
    ("handling", "segment", "text", "elements"),
    [
        ("html", "", "", []),
        ("html", "plain", "plain", []),
        ("html", "a <b>c</b> d", "a c d", ["<b>c</b>"]),
        ("html", "<p>a <b>c <i>d</i></b></p>", "a c d", ["<p>a c d</p>", "<b>c d</b>", "<i>d</i>"]),
        ("html", "<B>a</b>", "a", ["<B>a</b>"]),  # names of HTML have no case,
        ("xml", "<B>a</b>", "a", ["0 <B>", "1 </b>"]),  # those of XML have
        ("html", "a<br>b<BR/>c<img src=x>", "abc", ["1 <br>", "2 <BR/>", "3 <img src=x>"]),
        ("xml", "a<br>b", "ab", ["1 <br>"]),
        ("xml", "a<x id='1'/>b<g></g>", "ab", ["1 <x id='1'/>", "<g></g>"]),
        ("html", "<b>a <i>b</b> c</i>", "a b c", ["<b>a b</b>", "<i>b c</i>"]),
        ("html", "<b>a <i>c</b>", "a c", ["<b>a c</b>", "2 <i>"]),  # not closed
        ("html", "a</b> c", "a c", ["1 </b>"]),  # not opened
        ("html", "<p>a<p>b</p>", "ab", ["0 <p>", "<p>b</p>"]),
        # Attributes are kept as they are.
        ("html", """<a b="x > y" c='"' \n d >t</a >""", "t", ["""<a b="x > y" c='"' \n d >t</a >"""]),
        ("html", "<a href=http://x.org/?a=1&amp;b=2>t</a>", "t", ["<a href=http://x.org/?a=1&amp;b=2>t</a>"]),
        ("xml", "<ns:a-b.c x:y='1'>t</ns:a-b.c>", "t", ["<ns:a-b.c x:y='1'>t</ns:a-b.c>"]),
        ("xml", "<größe>t</größe>", "t", ["<größe>t</größe>"]),
        # What has no text.
        ("html", "a<!-- <b> -->c<?p 1 > 2 ?><!ENTITY x>", "ac", ["1 <!-- <b> -->", "2 <?p 1 > 2 ?>", "2 <!ENTITY x>"]),
        # What is no markup.
        ("html", "a < b > c <3 <> </> <me@a.org> <- &", "a < b > c <3 <> </> <me@a.org> <- &", []),
        ("html", "a <b c", "a <b c", []),
        ("html", 'a <b c="d>', 'a <b c="d>', []),
        ("html", "a <!-- b <?c <![CDATA[ d", "a <!-- b <?c <![CDATA[ d", []),
        ("html", "AT&T &; &#; &x y; {0} %s", "AT&T &; &#; &x y; {0} %s", []),
        # Elements of XLIFF and TMX whose tags are elements themselves, and whose content is code.
        ("xliff", '<bx id="1"/>a<ex id="1"/>', "a", ['<bx id="1"/>a<ex id="1"/>']),
        ("xliff", '<bx id="1" rid="7"/>a<ex id="2" rid="7"/>', "a", ['<bx id="1" rid="7"/>a<ex id="2" rid="7"/>']),
        ("xliff", "<bpt i='1' x='3'>&lt;b></bpt>a<ept i='1'>{/b}</ept>", "a",
         ["<bpt i='1' x='3'>&lt;b></bpt>a<ept i='1'>{/b}</ept>"]),
        ("xliff", '<sc id="1"/>a<sc id="2"/>b<ec startRef="1"/>c<ec startRef="2"/>', "abc",
         ['<sc id="1"/>ab<ec startRef="1"/>', '<sc id="2"/>bc<ec startRef="2"/>']),
        ("xliff", '<ec id="1" isolated="yes"/>a<bx id="2"/>', "a", ['0 <ec id="1" isolated="yes"/>', '1 <bx id="2"/>']),
        ("xliff", '<ex id="1"/>a<bx id="1"/>', "a", ['0 <ex id="1"/>', '1 <bx id="1"/>']),  # the end comes first
        ("xliff", "<ph>a <sub>b</sub></ph>c<it pos='begin'>x</it>", "c",
         ["0 <ph>a <sub>b</sub></ph>", "1 <it pos='begin'>x</it>"]),
        ("xliff", "<ph>a<ph>b</ph></ph>c<ph>d", "cd", ["0 <ph>a<ph>b</ph></ph>", "1 <ph>"]),
        ("xliff", '<mrk mtype="term">a</mrk>', "a", ['<mrk mtype="term">a</mrk>']),
        ("xliff", 'a<cp hex="0001"/>b', "a\ufffdb", []),  # a character that XML cannot have
        ("xml", "<ph>a</ph>", "a", ["<ph>a</ph>"]),
        # Markdown.
        ("markdown", "a **b *c* d** e", "a b c d e", ["**b c d**", "*c*"]),
        ("markdown", "_a_ __b__ ~~c~~ ***d***", "a b c d", ["_a_", "__b__", "~~c~~", "***d***"]),
        ("markdown", "[a b](http://c_d_e.org) ![f](g)", "a b ", ["[a b](http://c_d_e.org)", "4 ![f](g)"]),
        ("markdown", '[a **b**](c "the title")', "a b", ['[a b](c "the title")', "**b**"]),
        ("markdown", "`a *b* ``c` ``d`e``", "a *b* ``c d`e", ["`a *b* ``c`", "``d`e``"]),
        ("markdown", r"\*a\* b\c", r"*a* b\c", []),
        ("markdown", "2 * 3 * 4, snake_case_name, a ** b, *c", "2 * 3 * 4, snake_case_name, a ** b, *c", []),
        ("markdown", "[a] (b) [c](d e) ](f) ` **", "[a] (b) [c](d e) ](f) ` **", []),
        ("markdown", "<b>a</b> &lt;", "<b>a</b> &lt;", []),
    ],
)  # fmt: skip
def test_segments_have_text_and_elements(handling: TagHandling, segment: str, text: str, elements: list[str]) -> None:
    marked = parse_markup(segment, handling)
    assert (marked.text, shown(marked)) == (text, elements)


@pytest.mark.parametrize(
    ("handling", "segment", "text", "written"),
    [
        ("html", "a &lt;b&gt; &amp;amp; &eacute;&#65;&#x42;&nbsp;", "a <b> &amp; éAB\xa0", None),
        ("xml", "&lt;&apos; &eacute; &company;", "<' é \ufffd", None),  # which only the document knows
        ("html", "&unknown; &notit;", "&unknown; ¬it;", None),
        ("html", "&#0;&#1;a", "\ufffda", None),
        ("html", "<b>&lt;</b>", "<", "&lt;"),
        ("xml", "a<![CDATA[<b> & ]] ]]>c", "a<b> & ]] c", "a&lt;b&gt; &amp; ]] c"),  # as tags may come into it
        ("markdown", r"\*a", "*a", None),
        ("html", "👩‍👧 e\u0301 \ud800 字", "👩‍👧 e\u0301 \ud800 字", None),
    ],
)
def test_text_is_written_as_before(handling: TagHandling, segment: str, text: str, written: str | None) -> None:
    marked = parse_markup(segment, handling)
    assert (marked.text, marked.written) == (text, written or segment)
    places = [marked.place(character) for character in range(len(text) + 1)]
    assert places == sorted(places) and places[-1] == len(marked.written)
    assert all(marked.text[number] in (marked.written[place], "\ufffd") or marked.written[place] in "&\\"
               for number, place in enumerate(places[:-1]))  # fmt: skip


def test_ignored_elements_are_tags_alone() -> None:
    segment = "a <code>x <b>y</b> <code/> <CODE>z</CODE></code> b </code> <code>c"
    assert shown(parse_markup(segment, "html", ["code"])) == [
        "2 <code>x <b>y</b> <code/> <CODE>z</CODE></code>",
        "5 </code>",
        "6 <code>",
    ]


@pytest.mark.parametrize(
    ("segment", "translation", "text", "elements"),
    [
        ("Delete {0} files?", "Dateien löschen?", "Delete  files?", ["7  {0} "]),  # with the spaces that it needs
        ("Delete {0} files?", "{0} Dateien löschen?", "Delete {0} files?", []),
        ("{a}: %s, %1$d, %(n)s.", "", ": , , .", ["0 {a}", "2  %s", "4  %1$d", "6  %(n)s"]),
        ("${a}{{b c}}", "x", "", ["0 ${a}", "0 {{b c}}"]),
        ("100% sure, 5 % der, {a b}, %sure", "", "100% sure, 5 % der, {a b}, %sure", []),
        ("<b>{0}</b> and &lt;", "&lt;", " and <", ["<b></b>", "0 {0}"]),
    ],
)
def test_placeholders_are_elements_if_the_translation_lacks_them(
    segment: str, translation: str, text: str, elements: list[str]
) -> None:
    marked = parse_markup(segment, translation=translation)
    assert (marked.text, shown(marked)) == (text, elements)


def test_a_segment_has_a_limit() -> None:
    assert len(parse_markup("<b>" * 10_000).elements) == 10_000
    with pytest.raises(WeftError, match="more than 10,000 tags"):
        parse_markup("<b>" * 10_001)
