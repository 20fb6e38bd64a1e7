"""Made-up languages with English translations and known word links, for demos and tests.

The first has what makes alignment hard, in small: adjectives follow their nouns and the verb stands last (reordering);
the order of adjectives, and where in the sentence place and time are told, is free, so that the words so far do not
tell the next one; articles are endings (two words to one); some verbs are two words (one to two); there are words
without a counterpart on either side, words with two meanings, and words that occur twice in a sentence. The others say
the same in other letters and another order: one in Cyrillic letters and in reverse, one with other vowels and
consonants, articles in front and the verb first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from weft.links import Links

NOUNS = {
    "dog": "kuno", "cat": "felu", "house": "domir", "river": "aluva", "child": "pido", "teacher": "magru",
    "book": "librun", "tree": "arvo", "road": "strado", "bird": "oselin", "king": "regu", "garden": "ortil",
    "ship": "naviro", "letter": "skribun", "mountain": "montar", "window": "vetrin",
}  # fmt: skip
ADJECTIVES = {
    "small": "mika", "old": "vetu", "red": "rudi", "quiet": "lente", "young": "yuna", "strange": "biza",
    "green": "verdi", "happy": "leta", "heavy": "peza", "bright": "lumi",
}  # fmt: skip
VERBS = {
    "sees": "vidas", "finds": "trovas", "follows": "iras post", "loves": "amas", "reads": "legas", "paints": "pintas",
    "remembers": "tenas mense", "watches": "gardas", "leaves": "lasas", "builds": "konstas",
}  # fmt: skip
PLACES = {"near": "apud", "behind": "malan", "in": "en", "above": "supra", "under": "sub"}
ARTICLES = {"the": "-la", "a": "-un", "every": "-omni", "this": "-ti"}
ENDS = {".": ".", "!": "!", "?": "?", "…": "…"}  # if all were the same, nothing would tell what a full stop belongs to
ADVERBS = {"today": "odi", "often": "ofte", "never": "nenia", "slowly": "lente"}


LANGUAGES = ("ma", "mb", "mc")
"""Codes of the made-up languages."""
_CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопщрстувшчыз")
_SHIFTED = str.maketrans("aeioubdgkprstlvmn", "oaeuipztchgjdrwnm")


class Example(NamedTuple):
    """A sentence pair and the links between its words."""

    english: list[str]
    made_up: list[str]
    links: Links


class Word(NamedTuple):
    """A word, and the number of the meaning that it shares with its translations; words without one have 0."""

    spelling: str
    meaning: int


def examples(count: int, seed: int) -> Iterator[Example]:
    """Yield random sentence pairs of English and the first language, with their links."""
    for sentences in translations(count, seed):
        english, made_up = sentences["en"], sentences[LANGUAGES[0]]
        yield Example(
            [word.spelling for word in english],
            [word.spelling for word in made_up],
            links_between(english, made_up),
        )


def sentence_pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of `examples` as text."""
    for example in examples(count, seed):
        yield " ".join(example.english), " ".join(example.made_up)


def translations(count: int, seed: int) -> Iterator[dict[str, list[Word]]]:
    """Yield random sentences in English ("en") and in all made-up languages."""
    writer = _Writer(random.Random(seed))
    for _ in range(count):
        english, first = writer.sentence()
        yield dict(zip(("en", *LANGUAGES), (english, first, _in_reverse(first), _verb_first(first)), strict=True))


def links_between(first: list[Word], second: list[Word]) -> Links:
    """Return the links between two translations of a sentence."""
    return frozenset(
        (source, target)
        for source, one in enumerate(first)
        for target, other in enumerate(second)
        if one.meaning == other.meaning != 0
    )


def _in_reverse(words: list[Word]) -> list[Word]:
    *words, end = (Word(word.spelling.translate(_CYRILLIC), word.meaning) for word in words)
    return [*reversed(words), end]


def _verb_first(words: list[Word]) -> list[Word]:
    *words, end = (
        Word("-".join(reversed(word.spelling.split("-"))).translate(_SHIFTED), word.meaning) for word in words
    )
    verb = [word for word in words if word.meaning == words[-1].meaning]
    return [*verb, *(word for word in words if word.meaning != verb[0].meaning), end]


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._meanings = 0

    def _translation(self, english: str, made_up: str) -> tuple[list[Word], list[Word]]:
        self._meanings += 1
        sides = (english.split(), made_up.split())
        first, second = ([Word(spelling, self._meanings) for spelling in side] for side in sides)
        return first, second

    def _noun_phrase(self) -> tuple[list[Word], list[Word]]:
        article, noun = self._chance.choice(list(ARTICLES)), self._chance.choice(list(NOUNS))
        (the, thing), made_up = self._translation(f"{article} {noun}", NOUNS[noun] + ARTICLES[article])
        english = [the]
        for adjective in self._chance.sample(list(ADJECTIVES), self._chance.choice((0, 0, 1, 1, 2))):
            first, second = self._translation(adjective, ADJECTIVES[adjective])
            english += first
            place = self._chance.randint(1, len(made_up))
            made_up[place:place] = second
        return [*english, thing], made_up

    def sentence(self) -> tuple[list[Word], list[Word]]:
        english, made_up = self._noun_phrase()
        verb = self._chance.choice(list(VERBS))
        does, made_up_does = self._translation(verb, VERBS[verb])
        thing, made_up_thing = self._noun_phrase()
        english = english + does + thing
        parts = [made_up, made_up_thing]  # who and what keep their order, or they could not be told apart
        if self._chance.random() < 0.5:
            place = self._chance.choice(list(PLACES))
            where, made_up_where = self._translation(place, PLACES[place])
            there, made_up_there = self._noun_phrase()
            english = english + where + there
            parts.insert(self._chance.randint(0, 2), made_up_where + made_up_there)
        if self._chance.random() < 0.4:
            adverb = self._chance.choice(list(ADVERBS))
            when, made_up_when = self._translation(adverb, ADVERBS[adverb])
            english = when + english if adverb == "today" else english + when
            parts.insert(self._chance.randint(0, len(parts)), made_up_when)
        if self._chance.random() < 0.2:
            english = [Word("well", 0), *english]
        if self._chance.random() < 0.3:
            parts.insert(0, [Word("ka", 0)])
        end = self._chance.choice(list(ENDS))
        stop, made_up_stop = self._translation(end, ENDS[end])
        return english + stop, [word for part in parts for word in part] + made_up_does + made_up_stop
