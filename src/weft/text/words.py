"""What a user calls words: those between white space, those of a list, or what is found in running text.

Models cut text into pieces whatever the words are (``units``); words and pieces meet by their places in the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from weft.text.spelling import Remembered
from weft.text.units import Span, chunk_spans, has_unspaced, letter_spans, unit_spans

# White space is ASCII's: a no-break space inside a word must not shift the user's numbering.
_WORD = re.compile(r"[^ \t\n\r\f\v]+")


def split_spaces(text: str) -> list[str]:
    """Return the words between white space."""
    for space in "\t\n\r\f\v":
        text = text.replace(space, " ")
    words = text.split(" ")
    return [word for word in words if word] if "" in words else words


def raw_word_spans(text: str) -> list[Span]:
    """Return the spans of the words of running text: its units, but single characters of scripts without spaces."""
    found: list[Span] = []
    for begin, end in chunk_spans(text):
        found += [(begin + first, begin + last) for first, last in _words_of_chunk[text[begin:end]]]
    return found


def _raw_words(chunk: str) -> tuple[Span, ...]:
    found: list[Span] = []
    for start, end in unit_spans(chunk):
        if has_unspaced(chunk[start]):
            found += [(start + first, start + last) for first, last in letter_spans(chunk[start:end])]
        else:
            found.append((start, end))
    return tuple(found)


_words_of_chunk = Remembered(_raw_words)


@dataclass(frozen=True)
class Sentence:
    """Text and its words."""

    text: str
    given: tuple[Span, ...] | None = None
    """The spans of the words; None: they are found in the text when they are needed."""
    raw: bool = False
    """Words are those of running text, or given ones that may begin and end anywhere; otherwise, white space or an
    end of the text is on both sides of each word."""

    @classmethod
    def from_text(cls, text: str, raw: bool = False) -> Sentence:
        """Take the words between white space, or find those of running text."""
        return cls(text, raw=raw)

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Sentence:
        """Take known words; the text has a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans))

    @functools.cached_property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the words: ``text[start:end]`` is the word."""
        if self.given is not None:
            return self.given
        return tuple(raw_word_spans(self.text) if self.raw else (match.span() for match in _WORD.finditer(self.text)))

    @functools.cached_property
    def words(self) -> list[str]:
        """The words as the user wrote them."""
        if self.given is None and not self.raw:
            return split_spaces(self.text)
        return [self.text[start:end] for start, end in self.spans]

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def words_in(self, start: int, end: int) -> list[int]:
        """Return the numbers of the words that have a character between two offsets."""
        return [number for number, (first, last) in enumerate(self.spans) if first < end and last > start]


Text = str | Sequence[str] | Sentence
"""A sentence: its text, its words, or both."""
