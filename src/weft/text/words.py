"""Words of a sentence with their character spans, and the normalisation of single words.

Text is first split into words and each word is normalised on its own afterwards. So whatever normalisation does to a
word's characters, the word keeps its number and its place in the user's text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.config import TextConfig

Span = tuple[int, int]  # start and end of a word: text[start:end]

# White space is ASCII's: a no-break space inside a word must not shift the user's numbering.
_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_SPACES = str.maketrans("\t\n\r\f\v", "     ")
_PLAIN = str.maketrans(
    {**dict.fromkeys("‘’‚‛′‹›`´", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
)


def split_spaces(text: str) -> list[str]:
    """Return the words between white space; faster than `split_words`."""
    return [word for word in text.translate(_SPACES).split(" ") if word]


def word_spans(text: str, tokenisation: str, language: str) -> list[Span]:
    """Return the character span of every word of ``text``."""
    if tokenisation == "moses":
        return _moses_spans(text, language)
    if tokenisation == "simple":
        return raw_word_spans(text, language)
    return [match.span() for match in _WORD.finditer(text)]


def split_words(text: str, tokenisation: str, language: str) -> list[str]:
    """Return the words of ``text`` as the user wrote them."""
    if tokenisation == "spaces":
        return split_spaces(text)
    return [text[start:end] for start, end in word_spans(text, tokenisation, language)]


@functools.cache
def _moses_tokeniser(language: str) -> Callable[..., Any]:
    from sacremoses import MosesTokenizer

    tokeniser = MosesTokenizer(lang=language)
    return functools.partial(tokeniser.tokenize, escape=False)


@functools.cache
def _moses_detokeniser(language: str) -> Callable[..., Any]:
    from sacremoses import MosesDetokenizer

    return functools.partial(MosesDetokenizer(lang=language).detokenize, unescape=False)


def _moses_spans(text: str, language: str) -> list[Span]:
    """Return the spans of the Moses tokeniser's tokens in ``text``.

    The tokeniser only inserts and removes white space and control characters, so its tokens, one after the other, spell
    the text. Should it ever change a character, the words between white space are used for that sentence instead.
    """
    spans: list[Span] = []
    position = 0
    for token in _moses_tokeniser(language)(text):
        start = end = -1
        for character in token:
            while position < len(text) and text[position] != character and _invisible(text[position]):
                position += 1
            if position == len(text) or text[position] != character:
                return [match.span() for match in _WORD.finditer(text)]
            start = position if start < 0 else start
            position += 1
            end = position
        spans.append((start, end))
    if not all(map(_invisible, text[position:])):
        return [match.span() for match in _WORD.finditer(text)]
    return spans


def _invisible(character: str) -> bool:
    return character.isspace() or ord(character) < 32


def normaliser(config: TextConfig) -> Callable[[str], str]:
    """Return the function that turns a user's word into the word that models see.

    It never returns an empty word or one with white space in it: a word of which nothing would be left stays as it is.
    """
    steps: list[Callable[[str], str]] = []
    if config.compatibility:
        steps.append(lambda word: unicodedata.normalize("NFKC", word))
    if config.plain_punctuation:
        steps.append(lambda word: word.translate(_PLAIN))
    if config.lowercase:
        steps.append(str.lower)
    if config.sharp_s:
        steps.append(lambda word: word.replace("ß", "ss").replace("ẞ", "SS"))
    if config.strip_diacritics:
        steps.append(_strip_diacritics)

    def normalise(word: str) -> str:
        result = word
        for step in steps:
            result = step(result)
        return "".join(split_spaces(result)) or word

    return normalise


def _strip_diacritics(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def join_words(words: list[str], tokenisation: str, language: str) -> str:
    """Return words as running text: with spaces between them, or joined by the Moses detokeniser."""
    if tokenisation != "moses":
        return " ".join(words)
    return str(_moses_detokeniser(language)(words))


Text = str | Sequence[str]
"""A sentence: its text, or its words."""


@dataclass(frozen=True)
class Sentence:
    """Text and the spans of its words: ``text[start:end]`` of a span is the word."""

    text: str
    spans: tuple[Span, ...]

    @classmethod
    def from_text(cls, text: str, tokenisation: str, language: str) -> Sentence:
        """Find the words of a text."""
        return cls(text, tuple(word_spans(text, tokenisation, language)))

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Sentence:
        """Take known words; the text has a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans))

    @functools.cached_property
    def words(self) -> list[str]:
        """The words as the user wrote them."""
        return [self.text[start:end] for start, end in self.spans]

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.spans)

    def words_in(self, start: int, end: int) -> list[int]:
        """Return the numbers of the words that have a character between two offsets."""
        return [number for number, (first, last) in enumerate(self.spans) if first < end and last > start]


def sentence_pair(source: Text, target: Text, config: TextConfig, tokenisation: str) -> tuple[Sentence, Sentence]:
    """Return both sentences of a pair; the words of a text are found, those of a list are given."""
    sides = (source, config.source_language), (target, config.target_language)
    first, second = (
        Sentence.from_text(text, tokenisation, language) if isinstance(text, str) else Sentence.from_words(text)
        for text, language in sides
    )
    return first, second


# -- words of running text, by simple rules ----------------------------------------------------------------------------

_ONE_BY_ONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Chinese characters
_LETTER = rf"[^\W\d_{_ONE_BY_ONE}]"
_RUN = rf"(?:{_LETTER}|\d|_)+"
_ELIDING = {"fr", "it", "ca", "oc"}  # languages in which a word loses its end before a vowel
_WHOLE_THOUGH_ELIDED = r"(?i:aujourd['’]hui|quelqu['’]une?s?|presqu['’]île|prud['’]homm\w+)"
_APOSTROPHE = {
    True: rf"{_WHOLE_THOUGH_ELIDED} | {_LETTER}+['’](?={_LETTER})",
    False: rf"(?<={_LETTER})['’]{_LETTER}+",
}


@functools.cache
def _tokens(eliding: bool) -> re.Pattern[str]:
    return re.compile(
        rf"""
          (?:https?://|www\.)[^\s<>"“”«»]*[^\s<>"“”«».,;:!?)'’]  # addresses, without the punctuation after them
        | (?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+            # tried once a run of such characters: linear time
        | (?:{_LETTER}\.){{2,}}                                   # U.S.
        | {_APOSTROPHE[eliding]}
        | \d+(?:[.,:/]\d+)+                                       # 1,250.50 and 12:30 and 1/2
        | {_RUN}(?:-{_RUN})*
        | \.{{2,}} | -{{2,}}
        | \S
        """,
        re.VERBOSE,
    )


def raw_word_spans(text: str, language: str) -> list[Span]:
    """Return the spans of the words of ``text``, in time linear in its length."""
    spans = [match.span() for match in _tokens(language in _ELIDING).finditer(text)]
    if text.isascii():
        return spans
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start and _goes_on(text[start - 1], text[start]):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _goes_on(before: str, character: str) -> bool:
    """Tell whether a character goes on with the word: accents, vowel signs, letters after them, parts of emoji."""
    if _combines(character):
        return True
    return before == "\N{ZERO WIDTH JOINER}" or (_combines(before) and character.isalnum())


def _combines(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character == "\N{ZERO WIDTH JOINER}"
