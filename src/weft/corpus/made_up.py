"""A made-up language with English translations and known word links, for demos and tests.

It has what makes alignment hard, in small: adjectives follow their nouns and the verb stands last (reordering); the
order of adjectives, and where in the sentence place and time are told, is free, so that the words so far do not tell
the next one; articles are endings (two words to one); some verbs are two words (one to two); there are words without a
counterpart on either side, words with two meanings, and words that occur twice in a sentence.
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


class Example(NamedTuple):
    """A sentence pair and the links between its words."""

    english: list[str]
    made_up: list[str]
    links: Links


class _Word(NamedTuple):
    """A word, and the number of the meaning that it shares with its translations; words without one have 0."""

    spelling: str
    meaning: int


def examples(count: int, seed: int) -> Iterator[Example]:
    """Yield random sentence pairs with their links."""
    writer = _Writer(random.Random(seed))
    for _ in range(count):
        english, made_up = writer.sentence()
        yield Example(
            [word.spelling for word in english],
            [word.spelling for word in made_up],
            frozenset(
                (source, target)
                for source, first in enumerate(english)
                for target, second in enumerate(made_up)
                if first.meaning == second.meaning != 0
            ),
        )


def sentence_pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the sentence pairs of `examples` as text."""
    for example in examples(count, seed):
        yield " ".join(example.english), " ".join(example.made_up)


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._meanings = 0

    def _translation(self, english: str, made_up: str) -> tuple[list[_Word], list[_Word]]:
        self._meanings += 1
        sides = (english.split(), made_up.split())
        first, second = ([_Word(spelling, self._meanings) for spelling in side] for side in sides)
        return first, second

    def _noun_phrase(self) -> tuple[list[_Word], list[_Word]]:
        article, noun = self._chance.choice(list(ARTICLES)), self._chance.choice(list(NOUNS))
        (the, thing), made_up = self._translation(f"{article} {noun}", NOUNS[noun] + ARTICLES[article])
        english = [the]
        for adjective in self._chance.sample(list(ADJECTIVES), self._chance.choice((0, 0, 1, 1, 2))):
            first, second = self._translation(adjective, ADJECTIVES[adjective])
            english += first
            place = self._chance.randint(1, len(made_up))
            made_up[place:place] = second
        return [*english, thing], made_up

    def sentence(self) -> tuple[list[_Word], list[_Word]]:
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
            english = [_Word("well", 0), *english]
        if self._chance.random() < 0.3:
            parts.insert(0, [_Word("ka", 0)])
        end = self._chance.choice(list(ENDS))
        stop, made_up_stop = self._translation(end, ENDS[end])
        return english + stop, [word for part in parts for word in part] + made_up_does + made_up_stop
