"""Words cut where tags may be, and text that both sides have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.apply.word_parts import (
    AT_HYPHEN,
    INSIDE_WORD,
    Copies,
    border_costs,
    cut_words,
    shared_borders,
    standing_apart,
)


@pytest.mark.parametrize(
    ("text", "borders", "expected"),
    [
        ("", [], ""),
        ("The house, yes.", [], "The house , yes ."),
        ("Google-Apps NeuLand CO2 a/b c_d", [], "Google - Apps Neu Land CO 2 a / b c _ d"),
        ("HTML Öl ÄÖ x²", [], "HTML Öl ÄÖ x²"),
        ("don't l'eau", [], "do n't l' eau"),
        ("我爱 北京", [], "我 爱 北 京"),
        ("Emailkonto neu", [5, 10, 11, 0, 14, 99], "Email konto neu"),
        ("abc", [2, 1, 2], "a b c"),
        ("e\u0301te\u0301 👩‍👧👍🏽 \ud83d\ude00", [], "e\u0301te\u0301 👩‍👧 👍🏽 \ud83d\ude00"),
        ("الكتاب هنا", [2], "ال كتاب هنا"),
    ],
)
def test_words_are_cut(text: str, borders: list[int], expected: str) -> None:
    assert cut_words(text, borders).words == expected.split()


@given(st.text(), st.lists(st.integers(0, 20)))
def test_cut_words_are_in_order_and_end_at_borders(text: str, borders: list[int]) -> None:
    spans = cut_words(text, borders).spans
    ends = [place for span in spans for place in span]
    assert ends == sorted(ends) and all(start < end for start, end in spans)
    assert not any(start < border < end for start, end in spans for border in borders)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("FileSave as,NewText", "File Save as,New Text"),
        ("CO2 and USA, Öl-Land", "CO2 and USA, Öl-Land"),
        (" zweiÖle  imHaus ", " zwei Öle  im Haus "),
    ],
)
def test_capitals_inside_of_words_stand_apart(text: str, expected: str) -> None:
    cut = cut_words(text)
    apart = standing_apart(cut)
    assert apart.text == expected and apart.words == cut.words


def test_it_costs_something_to_cut_a_word() -> None:
    assert border_costs(cut_words("ab-cd NeuLand, x", [12])) == [
        *(0, AT_HYPHEN, AT_HYPHEN),  # ab - cd
        *(0, INSIDE_WORD, INSIDE_WORD),  # Neu La nd
        *(0, 0, 0),  # , x and the end
    ]


@pytest.mark.parametrize(
    ("source", "borders", "target", "expected"),
    [
        ("H2O is wet", [1, 2], "Nass ist H2O.", [10, 11]),
        ("H2O is wet", [0, 3, 4], "Nass ist H2O.", []),  # at the ends of words
        ("H2O", [1], "H2O2", []),  # another word
        ("ab", [1], "ab cab ab", [1, 8]),
        ("aa aa", [1, 4], "aa aa", [1, 4]),  # each once
        ("ENEN", [2], "DEDE 77", [2, 6]),  # each twice
        ("ENEN", [1], "DEDE", []),
    ],
)
def test_words_of_both_sides_are_cut_alike(source: str, borders: list[int], target: str, expected: list[int]) -> None:
    assert list(shared_borders(source, borders, target)) == expected


@pytest.mark.parametrize(
    ("source", "span", "target", "expected"),
    [
        ("the Acme Tools page", (4, 14), "die Seite Acme Tools", [(2, 4)]),
        ("the  Acme  page", (4, 11), "Acme, Acme", [(0, 1), (2, 3)]),  # white space does not count
        ("the Acme page", (4, 8), "Acmes Seite", []),
        ("the Acme page", (4, 8), "die Acme-Seite", [(1, 2)]),
        ("in 2024", (3, 7), "im Jahr 2024", [(2, 3)]),
        ("x + y", (0, 1), "y + x", []),  # a letter says little
        ("a, b", (1, 2), "a, b", []),  # and punctuation nothing
        ("drink H2O now", (7, 8), "jetzt H2O 2", [(2, 3)]),  # the 2 of the same word
        ("drink H2 now", (7, 8), "jetzt 2 H3", [(1, 2)]),  # if there is no such word, any 2
        ("drink H2O now", (7, 7), "jetzt H2O", [(2, 2)]),
    ],
)
def test_copies_are_found(source: str, span: tuple[int, int], target: str, expected: list[tuple[int, int]]) -> None:
    sentence = cut_words(target, shared_borders(source, span, target))
    assert Copies(source, sentence, border_costs(sentence)).of(*span) == expected
