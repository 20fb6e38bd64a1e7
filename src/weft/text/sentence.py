"""A sentence as its user wrote it, and where its words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.config import TextConfig
from weft.text.raw_words import Span
from weft.text.words import word_spans

Text = str | Sequence[str]
"""A sentence: its text, or its words."""


@dataclass(frozen=True)
class Sentence:
    """Text and the spans of its words; ``text[start:end]`` of a span is the word, always."""

    text: str
    spans: tuple[Span, ...]

    @classmethod
    def from_text(cls, text: str, tokenisation: str, language: str) -> Sentence:
        """Text whose words are still to be found."""
        return cls(text, tuple(word_spans(text, tokenisation, language)))

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Sentence:
        """Words that are known; the text has a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans))

    @property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]

    def __len__(self) -> int:
        """The number of words."""
        return len(self.spans)

    def words_in(self, start: int, end: int) -> list[int]:
        """The numbers of the words that have a character between two offsets."""
        return [number for number, (first, last) in enumerate(self.spans) if first < end and last > start]


def sentence_pair(source: Text, target: Text, config: TextConfig, tokenisation: str) -> tuple[Sentence, Sentence]:
    """Both sides, their words found where they are not given."""
    sides = (source, config.source_language), (target, config.target_language)
    first, second = (
        Sentence.from_text(text, tokenisation, language) if isinstance(text, str) else Sentence.from_words(text)
        for text, language in sides
    )
    return first, second
