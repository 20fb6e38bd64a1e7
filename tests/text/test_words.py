"""Words of users: between white space, in lists, in running text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.units import INVISIBLE
from weft.text.words import Sentence, raw_word_spans, split_spaces

ASCII_SPACES = " \t\n\r\f\v"


@pytest.mark.parametrize("space", ASCII_SPACES)
def test_ascii_white_space_separates_words(space: str) -> None:
    assert split_spaces(f"{space}one{space}{space}two{space}") == ["one", "two"]


@pytest.mark.parametrize("character", ["\u00a0", "\u2009", "\u3000", "\u2028", "\x85", "\x1c"])
def test_other_white_space_stays_inside_a_word(character: str) -> None:
    assert split_spaces(f"one{character}two three") == [f"one{character}two", "three"]


@pytest.mark.parametrize("text", ["", " ", "\t\r\n "])
@pytest.mark.parametrize("raw", [False, True])
def test_text_without_words_has_none(text: str, raw: bool) -> None:
    sentence = Sentence.from_text(text, raw)
    assert sentence.words == [] and sentence.spans == () and len(sentence) == 0


def test_spans_are_places_in_the_text() -> None:
    sentence = Sentence.from_text("  ab\tc ")
    assert sentence.spans == ((2, 4), (5, 6)) and sentence.words == ["ab", "c"] and len(sentence) == 2
    assert sentence.words_in(0, 3) == [0] and sentence.words_in(3, 6) == [0, 1] and sentence.words_in(4, 5) == []


@given(st.text(), st.booleans())
def test_spans_slice_back_to_the_words(text: str, raw: bool) -> None:
    sentence = Sentence.from_text(text, raw)
    sliced = [text[start:end] for start, end in sentence.spans]
    assert sliced == sentence.words
    spaces = rf"[\s\u200b{INVISIBLE}]" if raw else f"[{ASCII_SPACES}]"
    assert re.sub(spaces, "", "".join(sliced)) == re.sub(spaces, "", text)


@given(st.lists(st.text()))
def test_given_words_are_taken_as_they_are(words: list[str]) -> None:
    sentence = Sentence.from_words(words)
    assert sentence.words == words and sentence.text == " ".join(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Haus, ja.", "Das|Haus|,|ja|."),
        ("我爱 北京。", "我|爱|北|京|。"),
        ("データを 使う", "デ|ー|タ|を|使|う"),
        ("か\u3099ﾊﾞ葛\U000e0100", "か\u3099|ﾊﾞ|葛\U000e0100"),
        ("ที่นี่", "ที่|นี่"),
        ("API接口2.0", "API|接|口|2.0"),
        ("한국어를 씁니다.", "한국어를|씁니다|."),
    ],
)
def test_raw_words_are_units_but_characters_in_scripts_without_spaces(text: str, expected: str) -> None:
    assert [text[start:end] for start, end in raw_word_spans(text)] == expected.split("|")
