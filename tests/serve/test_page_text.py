"""Text in the browser: the same words, places and pieces as in Python."""

from __future__ import annotations

import dataclasses
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from given_pieces import listed
from hypothesis import given, settings
from hypothesis import strategies as st
from in_browser import code_point_spans, run
from playwright.sync_api import Page
from text.test_units import SENTENCES

from weft.align.model_folder import open_model, read_aligner
from weft.config import TextConfig
from weft.text.spelling import Speller
from weft.text.subwords import Subwords
from weft.text.words import Sentence

TESTS = Path(__file__).parent.parent
REAL = [text for path in [TESTS / "languages.tsv", *(TESTS / "ordinary").glob("*.tsv")]
        for text in path.read_text(encoding="utf-8").splitlines()]  # fmt: skip
UNUSUAL = [
    "",
    " ",
    "\ufeff",
    "a" * 5_000,
    "我" * 2_000,
    "我 爱\u3000北京 天安门",
    "ل ه كتاب ب يت هم",
    "👩‍👩‍👧‍👦👍🏽🇸🇮🇫🇷🇩 ❤️ 1️⃣",
    "e\u0301\u0323 o\u0308\u0304 \u0301alone",
    "각 각 ﾊﾞｽ ㌔ ﬁ Ⅳ x²",
    "I\u0307stanbul İstanbul ΟΔΟΣ ὈΔΥΣΣΕΎΣ ẞ ß",
    "\x00 \x01a \x1c \x1f b\x85c \u2028 d\u00a0e \u200bf ▁g",
    "a \ud83d b \udc00c \udbff",
    "prud'hommes N’T İSN'T un’ora U.S. me@a.org, http://a.b/c?d, ... -- (x)",
    "e\u00adn\u200dd\u200f \u202eabc\u202c",
    "\U00010330\U00010331\U0001f600\U00020000\U000e0061",
]

JAVASCRIPT = """async (texts) => {
  globalThis.subwords ??= new weft.subwords.Subwords(
    new Uint32Array((await weft.files.read(["subwords"]))[0].buffer), weft.manifest.text);
  const described = (sentence) => ({ words: sentence.words, spans: sentence.spans, ...subwords.encode(sentence) });
  return texts.map((text) => {
    const characters = Array.from(text, (_, number) => number);
    const places = Array.from(text).reduce((ends, one) => [...ends, ends.at(-1) + one.length], [0]);
    const parts = characters.filter((number) => number % 3 === 0)
      .map((number) => [places[number], places[Math.min(number + 3, characters.length)]]);
    return [weft.words.rawSentence(text), weft.words.spacedSentence(text), weft.words.sentenceOf(text, parts)]
      .map(described);
  });
}"""


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return read_aligner(open_model()).subwords


def assert_equal_to_python(page: Page, subwords: Subwords, texts: Sequence[str]) -> None:
    for text, found in zip(texts, run(page, JAVASCRIPT, texts), strict=True):
        parts = tuple((start, min(start + 3, len(text))) for start in range(0, len(text), 3))
        sentences = [Sentence(text, raw=True), Sentence(text), Sentence(text, parts, raw=True)]
        for sentence, one in zip(sentences, found, strict=True):
            pieces = subwords.encode(sentence)
            assert one["words"] == sentence.words, ascii(text)
            assert code_point_spans(text, one["spans"]) == list(sentence.spans), ascii(text)
            assert [one["ids"], one["first"], one["last"]] == [*listed(pieces)], ascii(text)


def test_sentences_of_all_languages(page: Page, subwords: Subwords) -> None:
    assert_equal_to_python(page, subwords, [*REAL, *(text for _, text, _ in SENTENCES)])


def test_unusual_text(page: Page, subwords: Subwords) -> None:
    assert_equal_to_python(page, subwords, UNUSUAL)


SPELL = """({ rules, texts }) => texts.map((text) => new weft.spelling.Speller(rules).spell(text)
  .map(({ characters, spans }) => [characters.join(""), spans]))"""


@pytest.mark.parametrize(
    "rules",
    [
        TextConfig(lowercase=False),
        TextConfig(sharp_s=True, strip_diacritics=True),
        TextConfig(lowercase=False, sharp_s=True, plain_punctuation=True),
    ],
)
def test_rules_of_other_models(page: Page, rules: TextConfig) -> None:
    marks = [f"a{chr(one)}" for one in range(0x300, 0x2000) if unicodedata.category(chr(one))[0] == "M"]
    texts = [*UNUSUAL, *REAL[:54], *marks]
    found = run(page, SPELL, {"rules": dataclasses.asdict(rules), "texts": texts})
    for text, units in zip(texts, found, strict=True):
        wanted = [(unit.text, unit.spans()) for unit in Speller(rules).spell(text)]
        assert [(unit, code_point_spans(text, spans)) for unit, spans in units] == wanted, ascii(text)


def test_characters_of_all_scripts(page: Page, subwords: Subwords) -> None:
    """Inside a word and beside what rules look at. Python's Unicode may be older than the browser's."""
    numbers = [*range(0x700), *range(0x1C80, 0x2400), *range(0x700, 0x3400, 7), *range(0x3400, sys.maxunicode, 97)]
    characters = [chr(one) for one in numbers if unicodedata.category(chr(one)) not in {"Cn", "Co"}]
    for first in range(0, len(characters), 2_000):
        some = characters[first : first + 2_000]
        assert_equal_to_python(page, subwords, [f"{one}. a{one}b l'{one} {one}'s" for one in some])


# What rules look at, beside any character.
telling = st.sampled_from(list("aEl'’n.t-_/:@1 \t\n\u00a0\u200b\u200d\ufe0f\u0301我ぁァกب ه" + "👍🏽🇸ß\u00ad"))
texts = st.text(st.one_of(telling, st.characters(exclude_categories=["Cn", "Co", "Cs"])), max_size=30)


@settings(max_examples=100)
@given(st.lists(texts, min_size=20, max_size=20))
def test_any_text(page: Page, subwords: Subwords, found: list[str]) -> None:
    assert_equal_to_python(page, subwords, found)
