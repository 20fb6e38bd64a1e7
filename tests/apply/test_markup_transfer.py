"""Markup of sources in their translations: forms of markup, streams of segments, and what an aligner finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from given_links import GivenLinks, transfer_by

from weft.align.onnx_aligner import Aligner
from weft.align.windowed import WindowedAligner
from weft.apply import markup_transfer
from weft.apply.markup import TagHandling
from weft.apply.markup_transfer import transfer


@pytest.mark.parametrize(
    ("handling", "source", "target", "expected"),
    [
        # Attributes, comments and the like are copied; entities and all other text of the target stay.
        ("html", """<a b="x > y" c='"' \n d>one</a> two""", "eins zwei", """<a b="x > y" c='"' \n d>eins</a> zwei"""),
        ("html", "one<!-- > --> <?p ?>two<br>", "eins zwei", "eins<!-- > --> <?p ?>zwei<br>"),
        ("html", "a &amp; <b>c</b>", "A &#38; C", "A &#38; <b>C</b>"),
        ("html", "a <b>&lt;c&gt;</b>", "A &lt;C&gt;", "A <b>&lt;C&gt;</b>"),
        ("html", "a&nbsp;<b>c</b>", "A&#160;C", "A&#160;<b>C</b>"),
        ("xml", "a <b>c</b>", "&eacute;a &my-c;", "&eacute;a <b>&my-c;</b>"),
        ("xml", "a <b>&lt;c></b>", "A <![CDATA[<C>]]>", "A <b>&lt;C&gt;</b>"),
        ("html", "a < b <i>c</i> & d", "A < B C & D", "A < B <i>C</i> & D"),
        # The markup of a target is taken out, unless the source has none.
        ("html", "a <b>c</b>", "<i>A</i> C<br>", "A <b>C</b>"),
        ("html", "a c", "<i>A</i> C<br>", "<i>A</i> C<br>"),
        # XLIFF and TMX.
        ("xliff", 'a <bx id="1"/>b<ex id="1"/>', "A B", 'A <bx id="1"/>B<ex id="1"/>'),
        ("xliff", "<bpt i='1'>\\b </bpt>a<ept i='1'>\\b0 </ept> <ph x='1'>{0}</ph>b", "A B",
         "<bpt i='1'>\\b </bpt>A<ept i='1'>\\b0 </ept> <ph x='1'>{0}</ph>B"),
        ("xliff", 'a<x id="1"/> <g id="2">b</g>', "A B", 'A<x id="1"/> <g id="2">B</g>'),
        # Markdown.
        ("markdown", "see **the [site](http://a.org \"b\")** `now`", "siehe die Seite nun",
         "siehe **die [Seite](http://a.org \"b\")** `nun`"),
        ("markdown", "a *b* 2 * 3", "A B 2 * 3 \\_", "A *B* 2 * 3 \\_"),
        # Scripts from right to left, without spaces, of letters that are several characters.
        ("html", "the <b>house</b>", "هذا البيت", "هذا <b>البيت</b>"),
        ("html", "my <b>house</b>", "我 房", "我 <b>房</b>"),
        ("html", "my <b>house</b>.", "我房。", "我<b>房</b>。"),
        ("html", "<b>e\u0301a</b> c", "e\u0301e\u0301 o\u0308", "<b>e\u0301e\u0301</b> o\u0308"),
        ("html", "<b>o</b> c", "👩‍👧👍🏽 \ud83d\ude00 C", "<b>👩‍👧</b>👍🏽 \ud83d\ude00 C"),
        ("html", "<b>x</b> \ud800", "\udfff \ud800", "<b>\udfff</b> \ud800"),
        # Little or nothing.
        ("html", "", "", ""),
        ("html", "<b></b>", "", "<b></b>"),
        ("html", "<b>a</b>", "", "<b></b>"),
        ("html", "<b> </b>", "A", "<b></b>A"),
        ("html", "<b>a</b>", " ", " <b></b>"),
    ],
)  # fmt: skip
def test_forms_of_markup(handling: TagHandling, source: str, target: str, expected: str) -> None:
    assert transfer_by("=", source, target, handling=handling) == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Delete {0} files", "Lösche Dateien", "Lösche {0} Dateien"),
        ("Delete {0}", "Lösche", "Lösche {0}"),
        ("{0} files", "Dateien", "{0} Dateien"),
        ("Delete {0}.", "Lösche.", "Lösche {0}."),
        ("Delete ({0}) files", "Lösche () Dateien", "Lösche ({0}) Dateien"),
        ("Delete {0} {1} files", "Lösche Dateien", "Lösche {0} {1} Dateien"),
        ("{0} <b>files</b>", "{0} Dateien", "{0} <b>Dateien</b>"),
        ("%s and %s", "%s und %s", "%s und %s"),
        ("%1$s: <b>%d</b>", ":", "%1$s:<b>%d</b>"),
    ],
)
def test_placeholders_that_the_target_lacks(source: str, target: str, expected: str) -> None:
    assert transfer_by("=", source, target, placeholders=True) == expected
    if "<" not in source:
        assert transfer_by("=", source, target) == target


def test_ignored_elements_move_as_they_are() -> None:
    options = {"ignore_tags": ["code"]}
    assert transfer_by("=", "run <code>ls <b>-l</b></code> now", "jetzt laufen", **options) == (
        "jetzt <code>ls <b>-l</b></code>laufen"
    )
    assert transfer_by("=", "run <code>ls</code> now", "jetzt <code>dir</code> laufen", **options) == (
        "jetzt <code>ls</code> laufen"
    )


def test_only_segments_that_need_it_are_aligned_and_order_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup_transfer, "_AT_ONCE", 3)
    forms = [
        ("a", "<i>A</i>"),
        ("<p>a</p><br>", "<p>A</p><br>"),
        ("a <b>b</b>", "A <b>B</b>"),
        ("<b></b>a", "<b></b>A"),
    ]
    aligner, read = GivenLinks("="), []

    def pairs() -> Iterator[tuple[str, str]]:
        for number in range(10):
            read.append(number)
            yield forms[number % 4][0], ["<i>A</i>", "A", "A B", "<u>A"][number % 4]

    found = transfer(cast(WindowedAligner, aligner), pairs())
    assert next(found) == "<i>A</i>" and len(read) == 4  # a window, and the first one after it
    assert list(found) == [forms[number % 4][1] for number in range(1, 10)]
    assert [source.text for source, _ in aligner.pairs] == ["a b", "a b"]


def test_long_segments_do_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup_transfer, "_CELLS", 200)
    read: list[int] = []

    def pairs() -> Iterator[tuple[str, str]]:
        for number in range(5):
            read.append(number)
            yield "<b>1 2 3 4 5</b> 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 10"  # 100 cells

    found = transfer(cast(WindowedAligner, GivenLinks("=")), pairs())
    assert next(found) == "<b>1 2 3 4 5</b> 6 7 8 9 10" and len(read) == 3
    assert len(list(found)) == 4


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return Aligner(cores=1)


@pytest.mark.parametrize(
    ("source", "target", "options", "expected"),
    [
        ("I bought a <b>red car</b> yesterday.", "Gestern habe ich ein rotes Auto gekauft.", {},
         "Gestern habe ich ein <b>rotes Auto</b> gekauft."),
        ('Open the <a href="x">user <i>settings</i></a> first.', "Öffnen Sie zuerst die Benutzer-Einstellungen.", {},
         'Öffnen Sie zuerst die <a href="x">Benutzer-<i>Einstellungen</i></a>.'),
        ("The president<x/> said that <g>peace</g> is near.", "Le président a dit que la paix est proche.",
         {"handling": "xliff"}, "Le président<x/> a dit que la <g>paix</g> est proche."),
        ("The **new house** is [here](u).", "新房子在这里。", {"handling": "markdown"}, "**新房子**在[这里](u)。"),
        ("Water is <b>H<sub>2</sub>O</b>.", "Wasser ist H2O.", {}, "Wasser ist <b>H<sub>2</sub>O</b>."),
    ],
)  # fmt: skip
def test_with_an_aligner(aligner: Aligner, source: str, target: str, options: dict[str, Any], expected: str) -> None:
    assert aligner.transfer(source, target, **options) == expected


def test_what_is_too_long_for_the_aligner_is_placed_by_length(aligner: Aligner) -> None:
    source, target = "<p>" + "house " * 1_500 + "<b>car</b></p>", "Haus " * 1_500 + "Auto"
    long: list[int] = []
    pairs = [("no tags", "ohne"), ("<p>A house</p>", "Ein Haus"), (source, target), ("A <b>car</b>", "Ein Auto")]
    found = list(transfer(aligner, pairs, on_long=lambda index, pieces: long.append(index)))
    assert found[2:] == ["<p>" + "Haus " * 1_500 + "<b>Auto</b></p>", "Ein <b>Auto</b>"]
    assert long == [2]


def test_sides_may_be_the_other_way_round() -> None:
    reverse = Aligner(cores=1, reverse=True)
    found = reverse.transfer("ein <b>rotes</b> Auto", "a car that is red")
    assert found == "a car that is <b>red</b>"
