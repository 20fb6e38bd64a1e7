"""Are the terms of a glossary translated as agreed, where, and what stands there instead?

A term is found in the source by its words. What is linked to them in the target is compared with what was agreed on.
So nobody needs to know how words are inflected: an agreed word that is linked to the term is known by its beginning.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from weft.align.alignment import Alignment
from weft.errors import BadLine, WeftError
from weft.text.reading import read_text
from weft.text.spelling import Remembered
from weft.text.words import Sentence, Span

Verdict = Literal["ok", "inflected", "other", "missing"]
VERDICTS: tuple[Verdict, ...] = ("ok", "inflected", "other", "missing")

IsWord = Callable[[str, str], bool]
"""Tells whether a word of a glossary is a word of a text."""

_ALIKE = 0.6  # of the longer of two words must be the same, from the beginning, if they are forms of one word
_LEAST_ALIKE = 3  # characters


class Phrase(NamedTuple):
    """A term or a translation of one."""

    text: str
    words: list[str]


class Term(NamedTuple):
    """A term and the translations that were agreed on."""

    source: Phrase
    targets: list[Phrase]


class Finding(NamedTuple):
    """A term in a sentence pair, and what it is translated by."""

    term: Term
    verdict: Verdict
    source: Span
    """Where the term is, in characters."""
    target: Span | None
    """Where its translation is; None if it is missing."""


class Glossary:
    """Terms, to be found in sentences."""

    def __init__(self, terms: Sequence[Term], inflected: bool = False) -> None:
        """``inflected``: find other forms of the words of terms, too."""
        self._is_word = _is_form if inflected else _is_same
        self._by_beginning: dict[str, list[Term]] = defaultdict(list)
        for term in sorted(terms, key=lambda term: -len(term.source.words)):
            self._by_beginning[_beginning(term.source.words[0])].append(term)

    def check(self, alignment: Alignment) -> Iterator[Finding]:
        """Yield what the terms in a sentence are translated by. Of terms that overlap, the first and longest counts."""
        words, place = alignment.source.words, 0
        while place < len(words):
            term = self._longest_at(words, place)
            if term is not None:
                yield _judge(alignment, term, place)
            place += len(term.source.words) if term is not None else 1

    def _longest_at(self, words: list[str], place: int) -> Term | None:
        for term in self._by_beginning.get(_beginning(words[place]), ()):
            if _stands_at(place, term.source.words, words, self._is_word):
                return term
        return None


def read_glossary(name: str) -> list[Term]:
    """Read lines of ``term TAB translation``; more translations are after ``|`` or in other lines of the same term.

    Other columns, empty lines, lines that begin with ``#`` and a first line ``source TAB target`` are passed over.
    """
    terms: dict[str, Term] = {}
    for number, line in enumerate(read_text(name), 1):
        columns = [column.strip() for column in line.split("\t")]
        if not line.strip() or line.startswith("#") or (number == 1 and columns[:2] == ["source", "target"]):
            continue
        source, *targets = (_phrase(text) for text in [columns[0], *"|".join(columns[1:2]).split("|")])
        targets = [phrase for phrase in targets if phrase.words]
        if not source.words or not targets:
            raise BadLine(name, number, "expected 'term TAB translation'")
        known = terms.setdefault(source.text, Term(source, []))
        known.targets.extend(phrase for phrase in targets if phrase not in known.targets)
    if not terms:
        raise WeftError(f"{name}: has no terms")
    return list(terms.values())


def _phrase(text: str) -> Phrase:
    return Phrase(text.strip(), Sentence.from_text(text, raw=True).words)


def _judge(alignment: Alignment, term: Term, place: int) -> Finding:
    """Find the translation of a term whose first word is at ``place``.

    What was agreed on counts if one of its words is linked to the term, or if none of them is linked to anything.
    """
    own = range(place, place + len(term.source.words))
    source = alignment.source.spans[own[0]][0], alignment.source.spans[own[-1]][1]
    linked = {target for word, target in alignment.links if word in own}
    elsewhere = {target for word, target in alignment.links if word not in own}
    words, spans = alignment.target.words, alignment.target.spans
    verdicts: tuple[tuple[Verdict, IsWord], ...] = (("ok", _is_same), ("inflected", _is_form))
    for verdict, is_word in verdicts:
        found: list[tuple[int, Span]] = []  # how many words are linked to the term, and where
        for agreed in term.targets:
            for first in range(len(words) - len(agreed.words) + 1):
                there = set(range(first, first + len(agreed.words)))
                counts = there & linked or not there & elsewhere
                if counts and _stands_at(first, agreed.words, words, is_word):
                    found.append((len(there & linked), (spans[min(there)][0], spans[max(there)][1])))
        if found:
            return Finding(term, verdict, source, max(found, key=lambda one: one[0])[1])
    other = alignment.map_span(*source)
    return Finding(term, "missing" if other is None else "other", source, other)


def _stands_at(place: int, phrase: list[str], words: list[str], is_word: IsWord) -> bool:
    """Tell whether the words of a phrase follow each other from ``place`` on."""
    there = words[place : place + len(phrase)]
    return len(there) == len(phrase) and all(map(is_word, phrase, there))


def _is_same(own: str, word: str) -> bool:
    """Tell whether a word is that of a glossary. Case counts if that has a capital after its first letter: US, iOS."""
    own, word = _composed[own], _composed[word]
    return own == word or (own[1:] == own[1:].lower() and own.lower() == word.lower())


def _is_form(own: str, word: str) -> bool:
    """Tell whether a word is that of a glossary or may be another form of it: both begin alike."""
    one, other = _plain[own], _plain[word]
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return _is_same(own, word) or same >= max(_LEAST_ALIKE, _ALIKE * max(len(one), len(other)))


def _beginning(word: str) -> str:
    """Return characters that all forms of a word have in common."""
    return _plain[word][:_LEAST_ALIKE]


def _without_accents(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(character for character in parts if not unicodedata.combining(character))


_composed = Remembered(lambda word: unicodedata.normalize("NFC", word))
_plain = Remembered(_without_accents)
