"""Where the words of running text are, by simple rules: nothing to install, any language.

Punctuation is taken off words; numbers, addresses, hyphenated words and abbreviations with inner points stay whole. An
apostrophe begins a word in most languages (sister 's) and ends one in French and Italian (l' énergie). Writing without
spaces, as in Chinese and Japanese, becomes one word a character. Every character but white space is in exactly one
word.
"""

from __future__ import annotations

import functools
import re
import unicodedata

Span = tuple[int, int]  # start and end of a word: text[start:end]

_ONE_BY_ONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Chinese characters
_LETTER = rf"[^\W\d_{_ONE_BY_ONE}]"
_WORD = rf"(?:{_LETTER}|\d|_)+"
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
          (?:https?://|www\.)[^\s<>"“”«»]*[^\s<>"“”«».,;:!?)'’]  # addresses, without the punctuation behind them
        | [\w.+-]+@[\w-]+(?:\.[\w-]+)+
        | (?:{_LETTER}\.){{2,}}                                   # U.S.
        | {_APOSTROPHE[eliding]}
        | \d+(?:[.,:/]\d+)+                                       # 1,250.50 and 12:30 and 1/2
        | {_WORD}(?:-{_WORD})*
        | \.{{2,}} | -{{2,}}
        | \S
        """,
        re.VERBOSE,
    )


def raw_word_spans(text: str, language: str) -> list[Span]:
    """The spans of the words of ``text``."""
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
    """Whether a character is still part of the word: accents and vowel signs, and what follows them, parts of emoji."""
    if _combines(character):
        return True
    return before == "\N{ZERO WIDTH JOINER}" or (_combines(before) and character.isalnum())


def _combines(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character == "\N{ZERO WIDTH JOINER}"
