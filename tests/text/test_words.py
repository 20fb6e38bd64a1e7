"""Words, their places in the text, and what normalisation makes of them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.config import TextConfig
from weft.config_io import from_dict
from weft.text.words import join_words, normaliser, split_spaces, split_words, word_spans

ASCII_SPACES = " \t\n\r\f\v"
NO_RULES = TextConfig(lowercase=False)
# What the Moses tokeniser has rules for, beside arbitrary text.
MOSES_FRAGMENTS = ["...", "..", ".", ",", "'", "'s", '"', "-", "@-@", "&amp;", "Mr.", "3.5", "http://a.b/c", "DOTMULTI"]
SPACES_AND_CONTROLS = [" ", "\t", "\n", "\x00", "\x01", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"]

arbitrary_text = st.text() | st.lists(st.text(max_size=2) | st.sampled_from(MOSES_FRAGMENTS + SPACES_AND_CONTROLS)).map(
    "".join
)
words = st.text(st.characters(codec="utf-8", exclude_characters=ASCII_SPACES), min_size=1)
configs = st.builds(
    TextConfig,
    lowercase=st.booleans(),
    compatibility=st.booleans(),
    plain_punctuation=st.booleans(),
    sharp_s=st.booleans(),
    strip_diacritics=st.booleans(),
)


def normalise(word: str, **rules: bool) -> str:
    """The word after the given rules and no others."""
    return normaliser(from_dict(TextConfig, rules, "test", base=NO_RULES))(word)


# -- words between white space -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ASCII_SPACES)
def test_ascii_white_space_separates_words(space: str) -> None:
    assert split_spaces(f"{space}one{space}{space}two{space}") == ["one", "two"]


@pytest.mark.parametrize("character", ["\u00a0", "\u2009", "\u3000", "\u2028", "\x85", "\x1c"])
def test_other_white_space_stays_inside_a_word(character: str) -> None:
    assert split_spaces(f"one{character}two three") == [f"one{character}two", "three"]


@pytest.mark.parametrize("text", ["", " ", "\t\r\n "])
def test_text_without_words_has_none(text: str) -> None:
    assert split_spaces(text) == []
    assert word_spans(text, "spaces", "en") == []
    assert word_spans(text, "moses", "en") == []


def test_spans_are_places_in_the_text() -> None:
    assert word_spans("  ab\tc ", "spaces", "en") == [(2, 4), (5, 6)]


@given(arbitrary_text)
def test_spans_slice_back_to_the_words(text: str) -> None:
    sliced = [text[start:end] for start, end in word_spans(text, "spaces", "en")]
    assert sliced == split_words(text, "spaces", "en")
    assert "".join(sliced) == "".join(character for character in text if character not in ASCII_SPACES)


# -- Moses -------------------------------------------------------------------------------------------------------------


def test_moses_splits_a_real_sentence() -> None:
    text = "Hello, world! It's 3.5 km."
    assert split_words(text, "moses", "en") == ["Hello", ",", "world", "!", "It", "'s", "3.5", "km", "."]
    assert word_spans(text, "moses", "en")[:3] == [(0, 5), (5, 6), (7, 12)]


def test_moses_rules_depend_on_the_language() -> None:
    assert split_words("l'eau", "moses", "fr") == ["l'", "eau"]
    assert split_words("l'eau", "moses", "en") == ["l", "'eau"]


def test_moses_knows_abbreviations_and_dots_and_writes_no_entities() -> None:
    words = ["Mr.", "Smith", "&", "Sons", "won", "'t", "pay", "$", "5", "..."]
    assert split_words("Mr. Smith & Sons won't pay $5...", "moses", "en") == words


@pytest.mark.parametrize("language", ["en", "fr", "de", "zh", "fi"])
@given(text=arbitrary_text)
@example(text="a\x01b")
@example(text="a DOTMULTI b ...")
def test_moses_spans_cover_all_that_can_be_seen(language: str, text: str) -> None:
    position = 0
    for start, end in word_spans(text, "moses", language):
        assert position <= start < end <= len(text)
        assert not set(text[start:end]) & set(ASCII_SPACES)
        assert all(character.isspace() or character < " " for character in text[position:start])
        position = end
    assert all(character.isspace() or character < " " for character in text[position:])


def test_text_that_moses_would_change_is_split_at_white_space() -> None:
    assert split_words("a DOTMULTI, b", "moses", "en") == ["a", "DOTMULTI,", "b"]


def test_words_are_joined_as_they_were_split() -> None:
    assert join_words(["It", "'s", "here", "."], "spaces", "en") == "It 's here ."
    assert join_words(["It", "'s", "here", "."], "moses", "en") == "It's here."


# -- normalisation -----------------------------------------------------------------------------------------------------


def test_without_rules_a_word_stays_as_it_is() -> None:
    assert normalise("Straẞe\u00a0ﬁÉ") == "Straẞe\u00a0ﬁÉ"


@pytest.mark.parametrize(
    ("word", "lowercased"),
    [
        ("Word", "word"),
        ("ÀÉ", "àé"),
        ("İ", "i\u0307"),  # one letter becomes a letter and a dot above
        ("ẞ", "ß"),
        ("ΟΔΟΣ", "οδος"),  # sigma at the end of a word has its own form
        ("Σ", "σ"),
        ("ΔЖ", "δж"),
    ],
)
def test_lowercase(word: str, lowercased: str) -> None:
    assert normalise(word, lowercase=True) == lowercased


@pytest.mark.parametrize(
    ("word", "folded"),
    [("ﬁn", "fin"), ("Ａｂ", "Ab"), ("m²", "m2"), ("e\u0301", "é"), ("a\u00a0b", "ab"), ("①", "1"), ("ß", "ß")],
)
def test_compatibility(word: str, folded: str) -> None:
    assert normalise(word, compatibility=True) == folded


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("„", '"'),
        ("»", '"'),
        ("l’énergie", "l'énergie"),
        ("‘s", "'s"),
        ("1939–1945", "1939-1945"),
        ("—", "-"),
        ("'", "'"),
    ],
)
def test_plain_punctuation(word: str, plain: str) -> None:
    assert normalise(word, plain_punctuation=True) == plain


@pytest.mark.parametrize(("word", "spelled"), [("daß", "dass"), ("STRAẞE", "STRASSE"), ("dass", "dass")])
def test_sharp_s(word: str, spelled: str) -> None:
    assert normalise(word, sharp_s=True) == spelled


def test_sharp_s_of_either_case_is_lowercased_to_two_letters() -> None:
    assert normalise("STRAẞE", sharp_s=True, lowercase=True) == normalise("Straße", sharp_s=True, lowercase=True)
    assert normalise("STRAẞE", sharp_s=True, lowercase=True) == "strasse"


@pytest.mark.parametrize(
    ("word", "stripped"),
    [("élève", "eleve"), ("Ñandú", "Nandu"), ("e\u0301", "e"), ("Öl", "Ol"), ("søt", "søt"), ("й", "и"), ("한", "한")],
)
def test_strip_diacritics(word: str, stripped: str) -> None:
    assert normalise(word, strip_diacritics=True) == stripped


def test_lowercased_dotted_i_loses_its_dot_with_the_diacritics() -> None:
    assert normalise("İ", lowercase=True, strip_diacritics=True) == "i"


@pytest.mark.parametrize("word", ["\u0301", "\u0301\u0308", "\u20d7"])
def test_combining_marks_alone_stay(word: str) -> None:
    assert normalise(word, strip_diacritics=True) == word


def test_a_word_that_folds_to_white_space_stays() -> None:
    assert normalise("\u00a0", compatibility=True) == "\u00a0"


@given(words, configs)
@example("\u00a0\u0301", TextConfig(compatibility=True, strip_diacritics=True))
@example("\u00a8", TextConfig(compatibility=True, strip_diacritics=True))  # folds to a space and a combining mark
def test_normalised_words_are_never_empty_and_hold_no_white_space(word: str, config: TextConfig) -> None:
    normalised = normaliser(config)(word)
    assert normalised
    assert not set(normalised) & set(ASCII_SPACES)


def test_moses_tokens_are_joined_to_running_text_again() -> None:
    text = "Hello, world! It's 3.5 km."
    assert join_words(split_words(text, "moses", "en"), "moses", "en") == text
    assert join_words(["a", ",", "b"], "spaces", "en") == "a , b"
