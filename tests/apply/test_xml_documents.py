"""XLIFF and TMX: which segments are found, and that nothing but their targets changes."""

from __future__ import annotations

import codecs
import gzip
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.apply.documents import Document, read_document
from weft.apply.xml_documents import parse_xml_document, read_xml_document
from weft.errors import WeftError


def parse(text: str, languages: tuple[str, str] | None = None) -> Document:
    return parse_xml_document(text.encode(), "x", languages, everything=True)


def xliff_1(units: str, root: str = 'version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"') -> str:
    return f"<xliff {root}><file><body>{units}</body></file></xliff>"


def xliff_2(units: str, root: str = 'version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0"') -> str:
    return f"<xliff {root}><file>{units}</file></xliff>"


def tmx(units: str, header: str = '<header srclang="en"/>') -> str:
    return f'<tmx version="1.4">{header}<body>{units}</body></tmx>'


PAIR = ("<g>a</g>", "A")
SIDES = "<source><g>a</g></source><target>A</target>"
SEGMENTED = "<source>a b</source><seg-source>{}</seg-source><target>{}</target>"
TUVS = '<tuv xml:lang="en"><seg><g>a</g></seg></tuv><tuv xml:lang="de"><seg>A</seg></tuv>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (xliff_1(f"<trans-unit>{SIDES}</trans-unit>"), [PAIR]),
        (xliff_1(f"<trans-unit>{SIDES}</trans-unit>", ""), [PAIR]),  # neither namespace nor version
        (xliff_1(f"<group><group><trans-unit>{SIDES}</trans-unit></group></group>"), [PAIR]),
        ("<a:xliff version='1.2' xmlns:a='u'><a:file><a:body><a:trans-unit><a:source><g/></a:source>"
         "<a:target>A</a:target></a:trans-unit></a:body></a:file></a:xliff>", [("<g/>", "A")]),
        (xliff_1("<trans-unit><source>a &lt; <!-- > --><g b='>'>&#65;</g><![CDATA[</source>]]></source>"
                 '<target x=">">A &amp;<?p >?> </target></trans-unit>'),
         [("a &lt; <!-- > --><g b='>'>&#65;</g><![CDATA[</source>]]>", "A &amp;<?p >?> ")]),
        # what is left alone
        (xliff_1("<trans-unit><source>a</source><target>A</target></trans-unit>"), []),
        (xliff_1("<trans-unit><source><g>a</g></source></trans-unit>"), []),
        (xliff_1("<trans-unit><source><g>a</g></source><target/></trans-unit>"), []),
        (xliff_1("<trans-unit><source><g>a</g></source><target> \n</target></trans-unit>"), []),
        (xliff_1("<trans-unit><source/><target>A</target></trans-unit>"), []),
        (xliff_1(f'<trans-unit translate="no">{SIDES}</trans-unit>'), []),
        (xliff_1(f'<group translate="no"><trans-unit>{SIDES}</trans-unit></group>'), []),
        (xliff_1(f'<group translate="no"><trans-unit translate="yes">{SIDES}</trans-unit></group>'), [PAIR]),
        (xliff_1(f"<trans-unit><alt-trans>{SIDES}</alt-trans></trans-unit>"), []),
        (xliff_1(f"<trans-unit>{SIDES}<alt-trans>{SIDES}</alt-trans></trans-unit>"), [PAIR]),
        (xliff_1(f"<bin-unit><trans-unit>{SIDES}</trans-unit></bin-unit>"), []),
        (xliff_1(f'<trans-unit xmlns="other">{SIDES}</trans-unit>'), []),
        (xliff_1("<trans-unit><source xmlns:p='u'><p:g>a</p:g></source><target>A</target></trans-unit>"), []),
        # segments within a unit
        (xliff_1(f"<trans-unit>{SEGMENTED}</trans-unit>".format(
            '<mrk mtype="seg" mid="1"><g>a</g></mrk> <g><mrk mtype="seg" mid="2"><x/>b</mrk></g>',
            '<g><mrk mtype="seg" mid="2">B</mrk></g> <mrk mtype="seg" mid="1">A</mrk>')),
         [("<x/>b", "B"), PAIR]),
        (xliff_1(f"<trans-unit>{SEGMENTED}</trans-unit>".format(
            '<mrk mtype="seg" mid="1"><g>a</g></mrk>', '<mrk mtype="seg" mid="3">A</mrk>')), []),
        (xliff_1("<trans-unit><source>a<x/></source><seg-source><mrk mtype='seg' mid='1'>a<x/></mrk></seg-source>"
                 "<target>A</target></trans-unit>"), [("a<x/>", "A")]),
        (xliff_1('<trans-unit><source><mrk mtype="term">a</mrk></source><target>A</target></trans-unit>'),
         [('<mrk mtype="term">a</mrk>', "A")]),
        # XLIFF 2
        (xliff_2(f"<unit><segment>{SIDES}</segment><ignorable>{SIDES}</ignorable></unit>"), [PAIR]),
        (xliff_2("<group><unit><originalData><data id='1'>b</data></originalData><segment><source>a</source></segment>"
                 "<segment><source><pc dataRefStart='1'>a</pc></source><target>A</target></segment></unit></group>"),
         [("<pc dataRefStart='1'>a</pc>", "A")]),
        (xliff_2(f'<unit translate="no"><segment>{SIDES}</segment></unit>'), []),
        (xliff_2(f"<unit><m:matches xmlns:m='m'><m:match>{SIDES}</m:match></m:matches></unit>"), []),
        (xliff_2(f"<unit><unknown:matches>{SIDES}</unknown:matches><segment>{SIDES}</segment></unit>"), [PAIR]),
        (xliff_2(f"<unit><segment><source><g/></source><target><unit><segment>{SIDES}</segment></unit></target>"
                 "</segment></unit>"), [("<g/>", f"<unit><segment>{SIDES}</segment></unit>")]),
        # TMX
        (tmx(f"<tu>{TUVS}</tu>"), [PAIR]),
        (f'<!DOCTYPE tmx SYSTEM "tmx14.dtd">{tmx(f"<tu>{TUVS}</tu>")}', [PAIR]),
        (tmx(f"<tu>{TUVS}</tu>", '<header srclang="EN-us"/>'), [PAIR]),
        (tmx(f"<tu>{TUVS}</tu>", '<header srclang="de"/>'), []),
        (tmx(f'<tu srclang="en">{TUVS}</tu>', '<header srclang="*all*"/>'), [PAIR]),
        (tmx(f'<tu>{TUVS}<tuv lang="fr"><seg>AA</seg></tuv></tu>'), [PAIR, ("<g>a</g>", "AA")]),
        (tmx("<tu><tuv lang='de'><seg>A</seg></tuv><tuv lang='en'><seg><g>a</g></seg></tuv></tu>"), [PAIR]),
        (tmx("<tu><tuv lang='en'><prop>x</prop><seg><g/></seg></tuv><tuv lang='en-GB'><seg>A</seg></tuv></tu>"), []),
    ],
)  # fmt: skip
def test_segments(text: str, expected: list[tuple[str, str]]) -> None:
    document = parse(text)
    assert list(document.pairs()) == expected
    assert document.with_targets([target for _, target in expected]) == text.encode()


@pytest.mark.parametrize(
    ("source", "target", "unit", "is_taken"),
    [
        ("<g>a</g>", "A", "", True),
        ("<g>a</g><x/>", "A<x/>", "", True),
        ("<g>a</g>", "<g>A</g>", "", False),  # has all tags
        ("<g>a</g>", "<x/><g>A</g>", "", False),  # and more
        ("<g>a</g>", "<x/>A", "", True),
        ("<g>a</g>", "A", "approved='yes'", False),
        ("<g>a</g>", "A", "state='final'", False),
        ("<g>a</g>", "A<!-- ? -->", "", False),  # remarks
        ("<g>a</g>", "<mrk mtype='x-note'>A</mrk>", "", False),
        ("<mrk>a</mrk><x/>", "<mrk>A</mrk>", "", True),
        ("a<!-- b --><g/>", "A<g/>", "", False),
    ],
)
def test_targets_with_all_tags_approved_or_with_remarks_are_left_alone_unless_everything_is_wanted(
    source: str, target: str, unit: str, is_taken: bool
) -> None:
    text = xliff_1(f"<trans-unit {unit}><source>{source}</source><target>{target}</target></trans-unit>").encode()
    assert list(parse_xml_document(text, "x").pairs()) == [(source, target)] * is_taken
    assert list(parse_xml_document(text, "x", everything=True).pairs()) == [(source, target)]


def test_languages_of_tmx_are_chosen() -> None:
    units = f'<tu>{TUVS}<tuv xml:lang="fr-FR"><seg><g>AA</g></seg></tuv></tu>'
    text = tmx(units, '<header srclang="*all*"/>')
    assert list(parse(text, ("en", "de")).pairs()) == [PAIR]
    assert list(parse(text, ("FR", "de")).pairs()) == [("<g>AA</g>", "A")]
    with pytest.raises(WeftError, match=r"x: no unit has both en and es; there are de, en, fr-FR"):
        parse(text, ("en", "es"))
    with pytest.raises(WeftError, match=r"x:1: nothing says which language is the source; .*--languages en de"):
        parse(text)
    with pytest.raises(WeftError, match="leave out --languages"):
        parse(xliff_1(""), ("en", "de"))


def test_only_targets_change() -> None:
    text = xliff_1(
        f"<!-- é -->\r\n<trans-unit  id='1' >{SIDES}<note/></trans-unit>\n<trans-unit>{SIDES}</trans-unit>\t"
    )
    document = parse(text)
    assert document.with_targets(["É", "<x/>"]).decode() == text.replace(">A<", ">É<", 1).replace(">A<", "><x/><")
    with pytest.raises(ValueError):
        document.with_targets(["one"])


@pytest.mark.parametrize(
    ("encoding", "mark", "letters"),
    [
        ("UTF-8", b"", "ä漢😀"),
        ("UTF-8", codecs.BOM_UTF8, "ä漢😀"),
        ("UTF-16", codecs.BOM_UTF16_LE, "ä漢😀"),
        ("UTF-16", codecs.BOM_UTF16_BE, "ä漢😀"),
        ("UTF-16", b"", "ä漢😀"),
        ("ISO-8859-1", b"", "äß"),
        ("windows-1251", b"", "щЖ"),
        ("Shift_JIS", b"", "漢字"),
        ("gb18030", b"", "漢😀"),
    ],
)
def test_any_encoding(encoding: str, mark: bytes, letters: str) -> None:
    codec = encoding if encoding != "UTF-16" else "utf-16-be" if mark == codecs.BOM_UTF16_BE else "utf-16-le"
    declared = f"<?xml version='1.0' encoding='{encoding}'?><!-- {letters} -->"
    text = declared + xliff_1(f"<trans-unit><source>{letters}<g/></source><target>{letters}</target></trans-unit>")
    document = parse_xml_document(mark + text.encode(codec), "x")
    assert list(document.pairs()) == [(f"{letters}<g/>", letters)]
    changed = text.replace("</target>", "<g/></target>").encode(codec)
    assert document.with_targets([f"{letters}<g/>"]) == mark + changed


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "x:1: not well-formed XML: no element found"),
        (b"<xliff>\n<file></xliff>", "x:2: not well-formed XML: mismatched tag"),
        (b"<xliff>\xff</xliff>", "x:1: not well-formed XML"),
        (b"<xliff>&undefined;</xliff>", "x:1: not well-formed XML: undefined entity"),
        (
            f"<xliff {' '.join(f'xmlns:a{number}=_u_' for number in range(1_001))}/>".replace("_", "'").encode(),
            "more than 1,000 namespaces",
        ),
        (b"<html/>", "x:1: neither XLIFF nor TMX, but <html>"),
        (b"<!DOCTYPE tmx [<!ENTITY a 'b'>]><tmx/>", "x:1: its DOCTYPE defines entities"),
        (b"<!DOCTYPE tmx SYSTEM 'x' [<!ENTITY a SYSTEM '/etc/passwd'>]><tmx/>", "x:1: its DOCTYPE defines entities"),
        (
            xliff_1(f"<trans-unit><source>{'<x/>' * 10_001}</source>\n<target>A</target></trans-unit>").encode(),
            "x:2: a segment with more than 10,000 tags",
        ),
        (
            b"<a:xliff xmlns:a='u' xmlns:b='v'><a:file><a:body><a:trans-unit><a:source>A <b:ph>b</b:ph><a:x/>\n"
            b"</a:source>\n<a:target>A</a:target></a:trans-unit></a:body></a:file></a:xliff>",
            "x:3: <a:x>: codes with a prefix are not understood; write <x>, and declare the namespace as xmlns",
        ),
        (b"<xliff>" * 1_000, "x:1: more than 500 elements within one another"),
        (b"<?xml version='1.0' encoding='rot13'?><xliff/>", "cannot be read as 'rot13'"),
        (b"<?xml version='1.0' encoding='windows-1'?><xliff/>", "cannot be read as 'windows-1'"),
        (b"<?xml version='1.0' encoding='utf-16'?><xliff/>", "cannot be read as 'utf-16'"),
        (b"<?xml version='1.0' encoding='us-ascii'?><xliff>\xe4</xliff>", "is not valid ascii at byte 49"),
        (codecs.BOM_UTF16_LE + b"<\0x", "is not valid utf-16-le"),
        (codecs.BOM_UTF16_LE + b"\0\xd8\0\xd8", "is not valid utf-16-le"),
        (
            b"<?xml version='1.0' encoding='euc-kr'?><xliff>\xa4\xd4\xa4\xa1\xa4\xbf\xa4\xd4</xliff>",
            "has bytes that stand for",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(WeftError) as caught:
        parse_xml_document(data, "x")
    assert problem in str(caught.value)


def test_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf.gz"
    path.write_bytes(gzip.compress(xliff_1(f"<trans-unit>{SIDES}</trans-unit>").encode()))
    assert list(read_xml_document(str(path)).pairs()) == [PAIR]
    with pytest.raises(WeftError, match=r"b\.xlf: No such file"):
        read_xml_document(str(tmp_path / "b.xlf"))


def test_more_than_a_limit_is_not_read() -> None:
    with pytest.raises(WeftError, match="/dev/zero: more than 1 MB; split it"):
        read_document("/dev/zero", 1 << 20)


_TEXT = st.text("aä漢 &<>\"'\n]", max_size=6).map(
    lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace("]", "&#93;")
)
_ODD = st.sampled_from(
    ["<!-- <target>A</target> -->", "<?p <target>?>", "<![CDATA[<target>]]>", "<x a='>'/>", "&#x41;"]
)
_INLINE = st.recursive(
    _TEXT | _ODD,
    lambda inner: st.tuples(st.sampled_from(["g", "mrk", "p:q"]), st.lists(inner, max_size=3)).map(
        lambda made: f"<{made[0]} id='1'>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=6,
)
_UNIT = st.tuples(_TEXT, _INLINE, _INLINE, st.sampled_from(["", " translate='no'", " id = '>'"])).map(
    lambda made: (
        f"{made[0]}<trans-unit{made[3]}><source>{made[1]}</source>\n<target >{made[2]}</target>{made[0]}</trans-unit>"
    )
)


@given(st.lists(_UNIT, max_size=4), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "gb18030"]), st.data())
@settings(max_examples=200)
def test_random_documents_stay_the_same_outside_of_targets(
    units: list[str], encoding: str, data: st.DataObject
) -> None:
    declared = f"<?xml version='1.0' encoding='{encoding}'?>" if encoding == "gb18030" else ""
    text = declared + xliff_1("".join(units))
    document = parse_xml_document(text.encode(encoding), "x", everything=True)
    old = list(document.pairs())
    new = [f"A{data.draw(_INLINE)}" for _ in old]
    changed = document.with_targets(new)
    again = parse_xml_document(changed, "x", everything=True)
    assert list(again.pairs()) == [(source, target) for (source, _), target in zip(old, new, strict=True)]
    assert again.with_targets([target for _, target in old]) == text.encode(encoding)


def test_damaged_files_are_read_or_refused() -> None:
    texts = [
        xliff_1(f"<!-- é --><trans-unit>{SIDES}<note>x</note></trans-unit>"),
        xliff_2(f"<unit><segment state='final'>{SIDES}</segment></unit>"),
        f'<!DOCTYPE tmx SYSTEM "tmx14.dtd">{tmx(f"<tu>{TUVS}</tu>")}',
    ]
    generator, outcomes = random.Random(7), {"read": 0, "refused": 0}
    for number in range(3_000):
        data = bytearray(texts[number % 3].encode(generator.choice(["utf-8", "utf-8", "utf-16"])))
        for _ in range(generator.choice([1, 1, 2, 8])):
            place = generator.randrange(len(data))
            match generator.randrange(4):
                case 0:
                    data[place] = generator.randrange(256)
                case 1:
                    del data[place : place + generator.choice([1, 3, 30])]
                    data += b" "
                case 2:
                    data[place:place] = bytes(data[generator.randrange(len(data)) :][:20])
                case 3:
                    data[place:place] = generator.choice([b"<", b">", b"&", b"]]>", b"<![CDATA[", b"\0", b"'", b"/"])
        try:
            document = parse_xml_document(bytes(data), "x")
        except WeftError as error:
            outcomes["refused"] += 1
            assert "\n" not in str(error)
        else:
            outcomes["read"] += 1
            assert document.with_targets([target for _, target in document.pairs()]) == data
    assert min(outcomes.values()) > 100
