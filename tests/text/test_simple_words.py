"""Words of running text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.words import raw_word_spans


def words(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in raw_word_spans(text, language)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "My sister's house (the old one) isn't sold.", "My sister 's house ( the old one ) isn 't sold ."),
        ("en", "“Don’t,” she said...", "“ Don ’t , ” she said ..."),
        ("en", "It cost 1,250.50 at 12:30 in the U.S. market.", "It cost 1,250.50 at 12:30 in the U.S. market ."),
        ("en", "At https://a.org/b?c=1, or ask me@a.org.", "At https://a.org/b?c=1 , or ask me@a.org ."),
        ("en", "a well-known cherry-picker -- yes", "a well-known cherry-picker -- yes"),
        ("de", "„Wir müssen gehen“, sagte er.", "„ Wir müssen gehen “ , sagte er ."),
        ("fr", "L'énergie d’aujourd'hui, qu'est-ce que c'est ?", "L' énergie d’ aujourd'hui , qu' est-ce que c' est ?"),
        ("ro", "Președintele a spus: „da”.", "Președintele a spus : „ da ” ."),
        ("ja", "私は学生です。", "私 は 学 生 で す 。"),
        ("hi", "हिन्दी भाषा।", "हिन्दी भाषा ।"),
        ("en", "e\u0301te\u0301 👩‍💻 ok", "e\u0301te\u0301 👩‍💻 ok"),
        ("en", " \t ", ""),
    ],
)  # fmt: skip
def test_words(language: str, text: str, expected: str) -> None:
    assert words(text, language) == expected.split()


@given(st.text(), st.sampled_from(["en", "fr", "de", "ja"]))
def test_words_cover_everything_but_white_space(text: str, language: str) -> None:
    found = raw_word_spans(text, language)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(found))
    covered = "".join(text[start:end] for start, end in found)
    assert "".join(covered.split()) == covered and covered == "".join(text.split())


@pytest.mark.parametrize("language", ["de", "fr"])
@pytest.mark.parametrize(
    "unit",
    [
        "字",
        "a.-+",
        "a@",
        "-",
        "x'",
        ".",
        "www.",
        "www.,",
        "https://.",
        "1.",
        "a-",
        "a\u0301",
        "\u200d",
        "a@b.",
        "a.",
        "prud'",
    ],
)
def test_time_is_linear(unit: str, language: str) -> None:
    """Each takes a moment; if any rule were tried again from every character, minutes to hours."""
    text = unit * (200_000 // len(unit))
    assert sum(end - start for start, end in raw_word_spans(text, language)) == len(text)


@pytest.mark.parametrize("begin", ["www.", "x@", "x@y", "http://"])
@pytest.mark.parametrize("unit", [".", "-", ",", "字", "a.", "a-"])
def test_time_is_linear_after_a_promising_beginning(begin: str, unit: str) -> None:
    text = begin + unit * (200_000 // len(unit))
    assert sum(end - start for start, end in raw_word_spans(text, "fr")) == len(text)
