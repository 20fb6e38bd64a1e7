"""Words of a sentence with their character spans, and the normalisation of single words.

Text is first split into words and each word is normalised on its own afterwards. So whatever normalisation does to a
word's characters, the word keeps its number and its place in the user's text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

from weft.config import TextConfig
from weft.text.raw_words import Span, raw_word_spans

# White space is ASCII's: a no-break space inside a word must not shift the user's numbering.
_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_SPACES = str.maketrans("\t\n\r\f\v", "     ")
_PLAIN = str.maketrans(
    {**dict.fromkeys("‘’‚‛′‹›`´", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
)


def split_spaces(text: str) -> list[str]:
    """The words between white space; the fast path for text that is already tokenised."""
    return [word for word in text.translate(_SPACES).split(" ") if word]


def word_spans(text: str, tokenisation: str, language: str) -> list[Span]:
    """The character span of every word of ``text``."""
    if tokenisation == "moses":
        return _moses_spans(text, language)
    if tokenisation == "simple":
        return raw_word_spans(text, language)
    return [match.span() for match in _WORD.finditer(text)]


def split_words(text: str, tokenisation: str, language: str) -> list[str]:
    """The words of ``text`` as the user wrote them."""
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
    """Where the tokens of the Moses tokeniser stand in ``text``.

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
    """The function that turns a user's word into the word that models see.

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
    """Words as running text: with spaces between them, or as the Moses detokeniser puts them together."""
    if tokenisation != "moses":
        return " ".join(words)
    return str(_moses_detokeniser(language)(words))
