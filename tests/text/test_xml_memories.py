"""TMX and XLIFF: which text is read, and what is refused with one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from memory_files import pairs_of, tmx, tmx_of_pairs, write

from weft.errors import WeftError
from weft.text.words import split_spaces

XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff", include_characters="\t\n")
)


@given(st.lists(st.tuples(XML_TEXT, XML_TEXT), max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    name = write(tmp_path_factory.mktemp("memory") / "memory.tmx", tmx_of_pairs([("first", "erste"), *pairs]))
    expected = [tuple(" ".join(split_spaces(side)) for side in pair) for pair in pairs if all(s.strip() for s in pair)]
    assert pairs_of(name) == [("first", "erste"), *expected]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("A &amp; B &lt; C &#x263a;&#9786;", "A & B < C ☺☺"),
        ("<![CDATA[<b> & ]]>text", "<b> & text"),
        ('<bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> text', "bold text"),
        ('a<ph>{1}<sub>a footnote</sub></ph>b <it pos="begin">&lt;i&gt;</it>c<ut>\\par</ut>', "ab c"),
        ("<hi>high<hi>er</hi></hi> up", "higher up"),
        ("<!-- no --><?no?>text", "text"),
    ],
)
def test_text_of_tmx_segments(segment: str, text: str, tmp_path: Path) -> None:
    assert pairs_of(write(tmp_path / "memory.tmx", tmx([[("en", segment), ("de", "x")]]))) == [(text, "x")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
@pytest.mark.parametrize(
    "doctype", ["", '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', '<!DOCTYPE tmx PUBLIC "-//X" "http://x/y.dtd">']
)
def test_encodings_and_document_types(encoding: str, doctype: str, tmp_path: Path) -> None:
    start = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n{doctype}\n'
    name = write(tmp_path / "memory.tmx", tmx([[("en", "more"), ("de", "größer")]], start=start).encode(encoding))
    assert pairs_of(name) == [("more", "größer")]


def test_what_is_beside_segments_is_no_text(tmp_path: Path) -> None:
    unit = (
        '<tu srclang="de"><note>no</note><prop type="x">no</prop><tuv lang="en"><prop type="x">no</prop><seg>one</seg>'
        '</tuv><tuv lang="de"><seg>eins</seg></tuv></tu><seg>no</seg>'
    )
    text = f'<tmx version="1.1"><header srclang="en"><note>no</note></header><body>{unit}</body></tmx>'
    assert pairs_of(write(tmp_path / "memory.tmx", text)) == [("eins", "one")]


XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en-US" target-language="de" original="x" datatype="plaintext"><body>
<trans-unit id="1"><source>Open <g id="1">the <x id="2"/>file</g></source>
  <seg-source><mrk mtype="seg" mid="1">Open the file</mrk></seg-source>
  <target state="final">Die <mrk mtype="term">Datei</mrk> öffnen<bpt id="3">&lt;b></bpt></target>
  <note>no</note><alt-trans><source>no</source><target>nein</target></alt-trans></trans-unit>
<group><trans-unit id="2"><source>untranslated</source></trans-unit>
<trans-unit id="3"><source>empty</source><target/></trans-unit></group>
<bin-unit><bin-source/><trans-unit id="5"><source>Close</source><target>Schließen</target></trans-unit></bin-unit>
</body></file></xliff>"""
XLIFF_2 = """<x:xliff version="2.1" xmlns:x="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"
  xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0"><x:file id="f"><x:unit id="u">
<mtc:matches><mtc:match ref="#s"><x:source>no</x:source><x:target>nein</x:target></mtc:match></mtc:matches>
<x:originalData><x:data id="d">no</x:data></x:originalData>
<x:segment id="s"><x:source>One <x:pc id="1">two</x:pc><x:ph id="2"/>.</x:source>
<x:target>Eins <x:mrk id="m">zwei</x:mrk>.</x:target></x:segment>
<x:ignorable><x:source> </x:source><x:target> </x:target></x:ignorable>
<x:segment><x:source>Bell<x:cp hex="0007"/><x:sc id="3"/>!<x:ec startRef="3"/></x:source>
<x:target>Glocke!</x:target></x:segment>
<x:segment><x:source>untranslated</x:source></x:segment>
</x:unit></x:file></x:xliff>"""
FIRST, SECOND = (
    [("Open the file", "Die Datei öffnen"), ("Close", "Schließen")],
    [("One two.", "Eins zwei."), ("Bell\a!", "Glocke!")],
)


@pytest.mark.parametrize(("text", "pairs"), [(XLIFF_1, FIRST), (XLIFF_2, SECOND)])
@pytest.mark.parametrize("ending", ["xlf", "xliff"])
def test_xliff(text: str, pairs: list[tuple[str, str]], ending: str, tmp_path: Path) -> None:
    name = write(tmp_path / f"text.{ending}", text)
    assert pairs_of(name) == pairs_of(name, "en", "de") == pairs
    assert pairs_of(name, "de", "en") == [(target, source) for source, target in pairs]
    with pytest.raises(WeftError, match="no entry has both en and fr; its languages: de, en"):
        pairs_of(name, "en", "fr")


def test_xliff_that_does_not_name_its_target_language(tmp_path: Path) -> None:
    name = write(tmp_path / "text.xlf", XLIFF_1.replace(' target-language="de"', ""))
    assert pairs_of(name) == pairs_of(name, "en", "de") == FIRST
    assert pairs_of(name, "de", "en") == [(target, source) for source, target in FIRST]


def test_untranslated_xliff(tmp_path: Path) -> None:
    text = '<xliff version="2.0" srcLang="en" trgLang="en"><segment><source>a</source></segment></xliff>'
    with pytest.raises(WeftError, match=r"text\.xlf: no entry has text in two languages; its languages: en"):
        pairs_of(write(tmp_path / "text.xlf", text))


# -- what is refused ---------------------------------------------------------------------------------------------------

GOOD = tmx([[("en", "a"), ("de", "b")]] * 3)
LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12)
)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", r":1: broken XML \(no element found\)"),
        (GOOD[:-40], r":\d: broken XML \("),
        (GOOD.replace("</tuv>", "", 1), r":4: broken XML \(mismatched tag\); repair the file, or export it again"),
        (GOOD + "<tmx/>", r":8: broken XML \(junk after document element\)"),
        (GOOD.replace("<seg>a", "<seg>a & b", 1), r":4: broken XML"),
        (GOOD.replace("<seg>a", "<seg>\0", 1), r":4: broken XML"),
        (GOOD.replace("<seg>a", "<seg>&#0;", 1), r":4: broken XML"),
        (GOOD.replace("<seg>a", "<seg>\x1b", 1), r":4: broken XML"),
        (GOOD.replace("<seg>a", "<seg>&nbsp;", 1), r":4: broken XML \(undefined entity\)"),
        (
            '<!DOCTYPE tmx SYSTEM "x">\n' + GOOD.replace("<seg>a", "<seg>&nbsp;", 1),
            r":5: unknown entity &nbsp; write the",
        ),
        (
            LAUGHS + "]>\n" + GOOD.replace("<seg>a", "<seg>&l;"),
            r":1: its DOCTYPE holds definitions, which are not read",
        ),
        ('<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + GOOD, ":1: its DOCTYPE holds definitions"),
        ('<!DOCTYPE tmx [<!ENTITY % x SYSTEM "http://x/">%x;]>' + GOOD, ":1: its DOCTYPE holds definitions"),
        ('<?xml version="1.0" encoding="Shift_JIS"?>' + GOOD, ":1: its encoding cannot be read; convert it to UTF-8"),
        ('<?xml version="1.0" encoding="zip"?>' + GOOD, ":1: its encoding cannot be read; convert it to UTF-8"),
        ('<?xml version="1.0" encoding="nonsense"?>' + GOOD, ":1: its encoding cannot be read; convert it to UTF-8"),
        ('<?xml version="1.0" encoding="UTF-16"?>' + GOOD, ":1: broken XML"),
        (GOOD.encode().replace(b"<seg>a", b"<seg>\xff"), r":4: broken XML \(not well-formed"),
        ("<html><body/></html>", ":1: not TMX: begins with <html> instead of <tmx>"),
        ("\n" + XLIFF_1, ":2: not TMX: begins with <xliff>"),
        ("one\teins\n", ":1: broken XML"),
        (GOOD.replace("<seg>a", "<seg>" + "<hi>" * 1_000, 1), ":4: elements in elements, more than 200 deep"),
        (GOOD.replace("<seg>a", "<seg>" + '<cp hex="110000"/>', 1), r':4: <cp hex="110000"/> is no character'),
        (GOOD.replace("<seg>a", "<seg>" + '<cp hex="d800"/>', 1), r':4: <cp hex="d800"/> is no character'),
        (GOOD.replace("<seg>a", "<seg>" + "<cp/>", 1), r':4: <cp hex=""/> is no character'),
    ],
)
def test_a_bad_file_is_refused_with_one_line(content: str | bytes, problem: str, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=rf"memory\.tmx{problem}") as caught:
        pairs_of(write(tmp_path / "memory.tmx", content))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1_000


@pytest.mark.parametrize("cut", range(0, len(GOOD) - 1, 7))
def test_a_truncated_file_is_refused(cut: int, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"memory\.tmx:\d+: broken XML"):
        pairs_of(write(tmp_path / "memory.tmx", GOOD[:cut]))


HOSTILE = {  # parts that a program writes again and again into a file, and what is said of it
    "comment": ("<tmx><!--", "x" * 100, ":1: a tag or comment of more than 16 MB; remove it"),
    "attribute": ('<tmx a="', "x" * 100, ":1: a tag or comment of more than 16 MB; remove it"),
    "text": ("<tmx><tu><tuv><seg>", "x" * 100, ":1: a unit with more than 64 MB of text; remove it"),
    "letters": ("<tmx><tu><tuv><seg>", "x<x/>" * 20, ":1: a unit with more than 64 MB of text; remove it"),
    "segments": ("<tmx><tu>", "<tuv><seg/></tuv>" * 6, ":1: a unit with more than 64 MB of text; remove it"),
    "names": ("<tmx>", "<a%d/>", "names of elements and attributes; is it TMX?"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory")
@pytest.mark.parametrize("kind", list(HOSTILE))
def test_memory_is_bounded(kind: str, tmp_path: Path) -> None:
    """Eighty megabytes of what must not be kept are refused."""
    start, part, problem = HOSTILE[kind]
    code = (
        "import resource, sys\nfrom weft.text.reading import Corpus\nfrom weft.errors import WeftError\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
        "try: print(sum(len(block.source) for block in Corpus(files=(sys.argv[1],)).blocks()))\n"
        "except WeftError as error: print(error)"
    )
    name = str(tmp_path / "memory.tmx.zst")
    with zstandard.open(name, "w") as file:
        file.write(start)
        for number in range(4_000):
            file.write("".join(part % (1_000 * number + n) if "%" in part else part for n in range(200)))
    result = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
    assert result.stdout.endswith(problem + "\n"), result.stderr
