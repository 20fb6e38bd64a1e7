"""Where elements go, given the links between words."""

from __future__ import annotations

import pytest
from given_links import transfer_by


@pytest.mark.parametrize(
    ("links", "source", "target", "expected"),
    [
        # An element is around the words that its own are linked to.
        ("=", "a <b>red</b> car", "ein rotes Auto", "ein <b>rotes</b> Auto"),
        ("0-0 1-2 2-1", "a <b>red</b> car", "une voiture rouge", "une voiture <b>rouge</b>"),
        ("0-0 1-1 1-2 2-3", "we <b>met</b> her", "wir trafen uns sie", "wir <b>trafen uns</b> sie"),
        ("0-0 1-1 2-1 3-2", "the <b>swimming pool</b> opens", "das Schwimmbad öffnet", "das <b>Schwimmbad</b> öffnet"),
        ("=", "<b>all of it</b>", "alles davon hier", "<b>alles davon hier</b>"),
        ("0-0 2-1", "<b>all of it</b>", "alles davon hier", "<b>alles davon hier</b>"),
        # Probabilities are weighed against each other.
        ("0-0 1-1:0.9 2-1:0.3 2-2:0.6", "a <b>red</b> car", "ein rotes Auto", "ein <b>rotes</b> Auto"),
        ("0-0 1-1:0.3 2-1:0.9 1-2:0.8", "a <b>red</b> car", "une voiture rouge", "une voiture <b>rouge</b>"),
        # Words that are apart are covered, if little is between them.
        ("0-0 1-1 2-3 3-2", "I <b>give back</b> that", "ich gebe das zurück", "ich <b>gebe das zurück</b>"),
        ("0-0 1-1:0.9 1-4:0.5 2-2 3-3", "I <b>give</b> it now", "ich gebe es nun auf", "ich <b>gebe</b> es nun auf"),
        # Words without links: the likeliest word, or what is left between its neighbours.
        ("0-0 1-1:0.1 2-2", "a <b>red</b> car", "ein rotes Auto", "ein <b>rotes</b> Auto"),
        ("0-0 2-2", "a <b>red</b> car", "ein rotes Auto", "ein <b>rotes</b> Auto"),
        ("0-0 2-1", "a <b>red</b> car", "ein Auto", "ein <b></b>Auto"),
        ("0-0 1-0 2-1", "<b>a</b> red car", "ein Auto", "<b>ein</b> Auto"),
        # Elements side by side, and inside each other.
        ("0-1 1-0", "<a>red</a> <b>car</b>", "voiture rouge", "<b>voiture</b> <a>rouge</a>"),
        ("=", "<a>one</a><b>two</b>", "eins zwei", "<a>eins</a> <b>zwei</b>"),
        ("0-0 1-0 2-1", "<a>a</a> <b>red</b> car", "ein Auto", "<a>ein</a> <b></b>Auto"),
        ("0-0 1-2 2-1 3-3", "<a>a <b>red</b> car</a> drives", "une voiture rouge roule",
         "<a>une voiture <b>rouge</b></a> roule"),
        ("0-1 1-3 2-2 3-0", "<a>the <b>red</b> car</a> now", "jetzt une voiture rouge",
         "jetzt <a>une voiture <b>rouge</b></a>"),
        ("=", "<a><b><c>red</c></b></a> car", "rotes Auto", "<a><b><c>rotes</c></b></a> Auto"),
        ("0-3 1-1 2-0", "<a>the <b>red</b></a> car", "auto rossa e la", "auto <a><b>rossa</b> e la</a>"),
        # What stands in the target letter by letter is where it stands.
        ("", "open <b>Acme Tools</b> now", "jetzt Acme Tools öffnen", "jetzt <b>Acme Tools</b> öffnen"),
        ("0-0 1-0 1-1", "<b>Acme</b> accounts", "Acme-Konten", "<b>Acme</b>-Konten"),
        ("0-1 1-0 2-2", "<b>12</b> of 12", "12 von 12", "<b>12</b> von 12"),
        ("=", "CO<sub>2</sub> and H<sub>2</sub>O", "H2O und CO2", "H<sub>2</sub>O und CO<sub>2</sub>"),
        ("=", "hy<wbr/>phen", "hyphen", "hy<wbr/>phen"),
        # Tags in words that the target does not have.
        ("0-0 1-0 2-1", "e<b>mail</b> now", "Elektropost jetzt", "<b>Elektropost</b> jetzt"),
        ("0-0 1-1 2-1 3-2", "a web<br/>site now", "eine Netzseite jetzt", "eine Netzseite<br/> jetzt"),
        # Punctuation is inside if it is in the source.
        ("=", "a <b>car</b>.", "ein Auto.", "ein <b>Auto</b>."),
        ("=", "a <b>car.</b>", "ein Auto.", "ein <b>Auto.</b>"),
        ("0-0 1-1 1-2", "a <b>car</b>", "ein Auto!", "ein <b>Auto</b>!"),
        # Quotation marks that the target alone has are inside, also around a little more.
        ("0-0 1-2 1-1 1-3", "a <b>car</b>", "ein „Auto“", "ein <b>„Auto“</b>"),
        ("0-0 1-2", "click <b>Send</b>", "clic « Envoyer tout » ici", "clic <b>« Envoyer tout »</b> ici"),
        ("0-0 1-2 2-3", "click <b>Send</b> all", "clic « Envoyer tout »", "clic « <b>Envoyer</b> tout »"),
        ("=", 'a "<b>car</b>" now', "ein „Auto“ nun", "ein „<b>Auto</b>“ nun"),
        ("0-0 1-2", "a <b>car</b>", 'ein "Auto"', 'ein "<b>Auto</b>"'),  # they look alike, so they may be of two pairs
        # What begins with a capital begins with one, if there is one near.
        ("0-0 1-2 1-3", "click <b>Data</b>", "cliquer Les données ici", "cliquer <b>Les données ici</b>"),
        ("0-0 1-2 1-3", "click <b>data</b>", "cliquer Les données ici", "cliquer Les <b>données ici</b>"),
        ("0-0 1-1:0.4 1-2", "see <b>Data</b>", "voir aux Données", "voir aux <b>Données</b>"),
        ("0-0 1-1 2-2 3-3", "a <b>“car”</b>", "ein „Auto“", "ein <b>„Auto“</b>"),
        ("0-0 1-2 2-3 3-1 4-4", "see (<b>page</b> 5)", "siehe 5 (Seite)", "siehe 5 (<b>Seite</b>)"),
    ],
)  # fmt: skip
def test_spans(links: str, source: str, target: str, expected: str) -> None:
    assert transfer_by(links, source, target, handling="xml") == expected


@pytest.mark.parametrize(
    ("links", "source", "target", "expected"),
    [
        ("=", "one <x/> two", "eins zwei", "eins <x/>zwei"),
        ("=", "one <x/> two", "eins  zwei", "eins <x/> zwei"),  # white space on both sides
        ("=", "one<x/> two", "eins zwei", "eins<x/> zwei"),
        ("=", "one <x/>two", "eins zwei", "eins <x/>zwei"),
        ("=", "<x/>one", "eins", "<x/>eins"),
        ("=", "<x/> one", " eins", "<x/> eins"),
        ("=", "one <x/>", "eins ", "eins <x/>"),
        ("0-1 1-0", "<x/>red car<y/>", "voiture rouge", "<x/>voiture rouge<y/>"),  # the ends stay the ends
        ("=", "one<x/><y/><!-- z --> two", "eins zwei", "eins<x/><y/><!-- z --> zwei"),
        ("=", "one <x></x> two", "eins zwei", "eins <x></x>zwei"),
        # Between the translations of what is before it and of what is after it.
        ("0-0 1-3 2-1 3-2", "a <x/>b c d", "A C D B", "A <x/>C D B"),
        ("0-0 2-2", "a<x/> b c", "A B C", "A<x/> B C"),
        ("0-0 1-2 2-3", "a <x/>b c", "A the B C", "A the <x/>B C"),  # beside the word that it touches
        ("0-0 1-2 2-3", "a<x/> b c", "A the B C", "A<x/> the B C"),
        ("0-0 1-1 2-3", "yes. <x/>No", "ja. „Nein“", "ja. <x/>„Nein“"),  # after the same punctuation
        ("0-0 1-1 1-2", "a <x/>b", "A, B", "A, <x/>B"),  # not before a comma,
        ("0-0 1-1 2-2", "a <x/>, b", "A, B", "A<x/>, B"),  # unless there is one
        # Not inside an element that it is not inside of.
        ("0-1 1-0 2-2", "I<x/> <b>give back</b>", "gebe ich zurück", "<x/><b>gebe ich zurück</b>"),
        ("0-0 1-1 2-2", "<b>a<x/> c</b> d", "A C D", "<b>A<x/> C</b> D"),
        ("0-1 1-2 2-0", "<b>a c<x/></b> d", "D A C", "D <b>A C<x/></b>"),
    ],
)
def test_tags_alone(links: str, source: str, target: str, expected: str) -> None:
    assert transfer_by(links, source, target, handling="xml") == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a <b>c</b> d", "A C D", "A <b>C</b> D"),
        ("a<b> c </b>d", "A C D", "A<b> C </b>D"),
        ("a<b> c</b> d", "A  C  D", "A<b>  C</b>  D"),
        ("a <b> c </b> d", "A C D", "A <b>C</b> D"),  # there is less in the target
        ("a <b> c </b> d", "A  C  D", "A <b> C </b> D"),
        ("a<b> </b>c", "A C", "A<b> </b>C"),
        ("<b> a </b>", "  A  ", "<b>  A  </b>"),
        ("<b>a</b>", " A ", "<b> A </b>"),  # an element that is around everything stays so
        ("<b>a</b> ", "A ", "<b>A</b> "),
        (" <b>a</b>", " A", " <b>A</b>"),
        ("a<b>\n\nc</b>", "A\n\nC", "A<b>\n\nC</b>"),
        ("a<b>\u00a0c</b>", "A C", "A<b> C</b>"),
        ("<b>a</b><i> c</i>", "A C", "<b>A</b><i> C</i>"),
        ("<b>a </b><i> c</i>", "A C", "<b>A</b> <i>C</i>"),  # one space for two
        ("(<b>a</b>)", "( A )", "( <b>A</b> )"),
    ],
)
def test_white_space_is_where_it_is_in_the_source(source: str, target: str, expected: str) -> None:
    assert transfer_by("=", source, target, handling="xml") == expected


@pytest.mark.parametrize(
    ("links", "source", "target", "covered", "parts"),
    [
        ("0-0 1-1 2-3 3-2", "I <b>give back</b> that", "ich gebe das zurück", "ich <b>gebe das zurück</b>",
         "ich <b>gebe das zurück</b>"),
        ("0-0 1-1 2-5 3-2 4-3 5-4", "I <b>give back</b> all these things", "ich gebe alle diese Dinge zurück",
         "ich <b>gebe</b> alle diese Dinge zurück", "ich <b>gebe</b> alle diese Dinge <b>zurück</b>"),
        ("0-0 1-1 2-5 3-2 4-3 5-4", "I <b>give <x/>back</b> all these things", "ich gebe alle diese Dinge zurück",
         "ich <b>gebe<x/></b> alle diese Dinge zurück", "ich <b>gebe<x/></b> alle diese Dinge <b>zurück</b>"),
    ],
)  # fmt: skip
def test_elements_may_be_split(links: str, source: str, target: str, covered: str, parts: str) -> None:
    assert transfer_by(links, source, target, handling="xml") == covered
    assert transfer_by(links, source, target, handling="xml", split=True) == parts


@pytest.mark.parametrize(
    ("links", "source", "target", "expected"),
    [
        ("=", "<b>a <i>b</b> c</i>", "A B C", "<b>A <i>B</b> C</i>"),
        ("0-2 1-1 2-0", "<b>a <i>b</b> c</i>", "C B A", "<i>C <b>B</i> A</b>"),
        ("=", "<bx id='1'/>a <bx id='2'/>b<ex id='1'/> c<ex id='2'/>", "A B C",
         "<bx id='1'/>A <bx id='2'/>B<ex id='1'/> C<ex id='2'/>"),
        ("=", "<g>a <bx id='1'/>b</g> c<ex id='1'/>", "A B C", "<g>A <bx id='1'/>B</g> C<ex id='1'/>"),
        ("=", "<g>a <bx id='1'/><bx id='2'/>b<ex id='1'/><ex id='2'/></g>", "A B",
         "<g>A <bx id='2'/><bx id='1'/>B<ex id='1'/><ex id='2'/></g>"),
        ("=", "<g><bx id='1'/><bx id='2'/><ex id='1'/><ex id='2'/></g>", "A",
         "<g><bx id='2'/><ex id='2'/><bx id='1'/><ex id='1'/></g>A"),
    ],
)  # fmt: skip
def test_elements_may_cross(links: str, source: str, target: str, expected: str) -> None:
    assert transfer_by(links, source, target, handling="xliff") == expected


@pytest.mark.parametrize(
    ("links", "source", "target", "expected"),
    [
        (None, "a <b>b</b> c <x/>d", "A B C D", "A <b>B</b> C <x/>D"),  # too long to be aligned
        ("", "a <b>b</b> c <x/>d", "A B C D", "A <b>B</b> C <x/>D"),
        ("0-3:0.01", "a <b>b</b> c <x/>d", "A B C D", "A <b>B</b> C <x/>D"),
        (None, "<b>a b</b> c d", "A B C D E F G H", "<b>A B C D</b> E F G H"),
        (None, "<p>a b c d</p>", "A", "<p>A</p>"),
        (None, "<p>a b c d</p>", "", "<p></p>"),
        (None, "<p><x/></p>", "A B", "<p><x/></p>A B"),
    ],
)
def test_without_links_lengths_decide(links: str | None, source: str, target: str, expected: str) -> None:
    assert transfer_by(links, source, target, handling="xml") == expected
