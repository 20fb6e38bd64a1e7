"""What normalisation makes of text, and where its characters come from."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.config import TextConfig
from weft.config_io import from_dict
from weft.text.spelling import Remembered, Speller
from weft.text.units import unit_spans

NO_RULES = TextConfig(lowercase=False)
RULES = ("lowercase", "compatibility", "plain_punctuation", "sharp_s", "strip_diacritics")
configs = st.builds(TextConfig, **dict.fromkeys(RULES, st.booleans()))
# Characters that change their number or their neighbours, beside arbitrary ones.
CHANGING = (
    "ßẞİıﬁΣςée\u0301ﾊﾞﾟ한ᄒ\u1161\u11ab가ﷺ①²…‐ \u00a8\u00a0\u00ad\u200d\u200b\u0640\u064eั่字か\u3099🇩👩🏽\ud83d\ude00'’nt"
)
texts = st.text(st.characters() | st.sampled_from(CHANGING), max_size=20)


def normalised(text: str, **rules: bool) -> str:
    """The text after the given rules and no others."""
    return "".join(Speller(from_dict(TextConfig, rules, "test", base=NO_RULES)).texts(text)).removeprefix(" ")


def test_without_rules_a_word_stays_as_it_is() -> None:
    assert normalised("StraẞeﬁÉ") == "StraẞeﬁÉ"


def test_units_of_scripts_with_spaces_begin_with_one() -> None:
    assert Speller(NO_RULES).texts("Das Haus.我爱 北京") == [" Das", " Haus", " .", "我爱北京"]
    assert Speller(NO_RULES).texts(" \u200f ") == []


@pytest.mark.parametrize(
    ("word", "lowercased"),
    [
        ("Word", "word"),
        ("ÀÉ", "àé"),
        ("İ", "i\u0307"),  # one letter becomes a letter and a dot above
        ("ẞ", "ß"),
        ("ΟΔΟΣ", "οδοσ"),  # the form that sigma has at the end of a word is not kept
        ("οδος", "οδοσ"),
        ("ΔЖ", "δж"),
    ],
)
def test_lowercase(word: str, lowercased: str) -> None:
    assert normalised(word, lowercase=True) == lowercased


@pytest.mark.parametrize(
    ("word", "folded"),
    [("ﬁn", "fin"), ("Ａｂ", "Ab"), ("m²", "m2"), ("①", "1"), ("ß", "ß"), ("ﾊﾞｽ", "バス"), ("…", "...")],
)
def test_compatibility(word: str, folded: str) -> None:
    assert normalised(word, compatibility=True) == folded


@pytest.mark.parametrize(
    ("word", "composed"), [("e\u0301", "é"), ("Tie\u0302\u0301ng", "Tiếng"), ("\u1112\u1161\u11ab", "한")]
)
def test_letters_are_always_composed(word: str, composed: str) -> None:
    assert normalised(word) == normalised(composed) == composed


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("„", '"'),
        ("»", '"'),
        ("「", '"'),
        ("l’", "l'"),
        ("м\u02bcята", "м'ята"),
        ("1939–1945", "1939 - 1945"),
        ("—", "-"),
        ("。", "."),
        ("؟", "?"),
        ("'", "'"),
    ],
)
def test_plain_punctuation(word: str, plain: str) -> None:
    assert normalised(word, plain_punctuation=True) == plain


@pytest.mark.parametrize(("word", "spelled"), [("daß", "dass"), ("STRAẞE", "STRASSE"), ("dass", "dass")])
def test_sharp_s(word: str, spelled: str) -> None:
    assert normalised(word, sharp_s=True) == spelled


def test_sharp_s_of_either_case_is_lowercased_to_two_letters() -> None:
    assert normalised("STRAẞE", sharp_s=True, lowercase=True) == normalised("Straße", sharp_s=True, lowercase=True)
    assert normalised("STRAẞE", sharp_s=True, lowercase=True) == "strasse"


@pytest.mark.parametrize(
    ("word", "stripped"),
    [("élève", "eleve"), ("Ñandú", "Nandu"), ("e\u0301", "e"), ("Öl", "Ol"), ("søt", "søt"), ("й", "и"), ("한", "한")],
)
def test_strip_diacritics(word: str, stripped: str) -> None:
    assert normalised(word, strip_diacritics=True) == stripped


def test_lowercased_dotted_i_loses_its_dot_with_the_diacritics() -> None:
    assert normalised("İ", lowercase=True, strip_diacritics=True) == "i"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Donau\u00addampf", "Donaudampf"),
        ("\ufeffword\u200f", "word"),
        ("👩‍💻❤️", "👩💻 ❤"),
        ("جميـــل", "جميل"),
        ("كِتَابٌ", "كتاب"),
    ],
)
def test_what_readers_do_not_miss_is_left_out(text: str, left: str) -> None:
    assert normalised(text) == left


@pytest.mark.parametrize("word", ["\u0301", "\u0301\u0308", "\u20d7", "ـ", "\u064e", "\u00a8"])
def test_a_unit_of_which_nothing_would_be_left_stays(word: str) -> None:
    assert normalised(word, strip_diacritics=True, compatibility=True) == word


@given(texts, configs)
@example("\u00a0\u0301", TextConfig(compatibility=True, strip_diacritics=True))
@example("\u00a8", TextConfig(compatibility=True, strip_diacritics=True))  # folds to a space and a combining mark
@example("ก ่ ก", TextConfig(strip_diacritics=True))  # a word of which nothing is left, inside a unit
@example("่ ่", TextConfig(strip_diacritics=True))
@example("aSS ß ﬁ İ", TextConfig(sharp_s=True, compatibility=True))
def test_every_unit_is_spelled_and_every_character_has_a_place(text: str, config: TextConfig) -> None:
    speller = Speller(config)
    found = speller.spell(text)
    assert [unit.start for unit in found] == [start for start, _ in unit_spans(text)]
    for unit, (start, end) in zip(found, unit_spans(text), strict=True):
        spans = unit.spans()
        assert len(spans) == len(unit.text) >= 1 and unit.text != " "
        assert not set(unit.text.removeprefix(" ")) & set(" \t\n\r\f\v\u3000")
        assert not any("\ud800" <= character <= "\udfff" for character in unit.text)
        assert spans[0][0] == start and spans[-1][1] == end
        for (first, last), (following, after) in itertools.pairwise(spans):  # in order; only white space is left out
            assert first < last <= after and first <= following < after
            assert not text[last:following].replace("\u200b", " ").strip()
    assert speller.texts(text) == [unit.text for unit in found]


def test_long_texts_are_not_remembered_and_memory_is_bounded() -> None:
    asked: list[str] = []
    memory = Remembered(lambda text: asked.append(text) or text.upper(), most=2, longest=3)
    assert [memory[text] for text in ("a", "b", "a", "long", "long", "c", "a")] == [
        "A",
        "B",
        "A",
        "LONG",
        "LONG",
        "C",
        "A",
    ]
    assert asked == ["a", "b", "long", "long", "c", "a"] and set(memory) == {"a", "c"}
