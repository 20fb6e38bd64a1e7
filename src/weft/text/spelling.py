"""How models see units: normalised, with the place of every character in the user's text.

Normalisation may change the number of characters. It works on one letter with its marks at a time, so every character
of the result comes from one letter, whose place is known.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from weft.config import TextConfig
from weft.text.units import INVISIBLE, SELECTORS, SPACE, Span, chunks, has_marks, has_unspaced, letter_spans, unit_spans

Value = TypeVar("Value")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′‹›`´ʼ", "'"),
        **dict.fromkeys("“”„‟″«»「」『』《》", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **{"。": ".", "।": ".", "、": ",", "،": ",", "؛": ";", "؟": "?"},
    }
)
# What a reader does not miss: invisible characters, and the marks that Arabic is mostly written without.
_LEFT_OUT = re.compile(rf"[{SPACE}{INVISIBLE}{SELECTORS}\u0640\u064b-\u0652\u0670]")


class Remembered(dict[str, Value]):
    """What a function returns for texts, most of which come again and again; long ones are not kept."""

    def __init__(self, function: Callable[[str], Value], most: int = 200_000, longest: int = 50) -> None:
        super().__init__()
        self._function, self._most, self._longest = function, most, longest

    def __missing__(self, text: str) -> Value:
        value = self._function(text)
        if len(text) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[text] = value
        return value


class Spelled(NamedTuple):
    """A unit as models see it, beginning with a space if its script has spaces between words."""

    text: str
    start: int  # in the user's text
    places: Sequence[Span] | None  # of the characters, counted from the start of the unit; without that of the space.
    # None: they are those of the unit's characters, one for one.

    def spans(self) -> list[Span]:
        """Return the span of the user's text that each character comes from."""
        places = self.places or itertools.pairwise(range(len(self.text.removeprefix(" ")) + 1))
        found = [(self.start + first, self.start + last) for first, last in places]
        return found if len(found) == len(self.text) else [found[0], *found]


class Speller:
    """Finds the units of texts and spells them by the rules of a model."""

    def __init__(self, config: TextConfig) -> None:
        self._normalise = normaliser(config)
        self._chunks = Remembered(lambda chunk: [unit.text for unit in self.spell(chunk)])

    def spell(self, text: str) -> list[Spelled]:
        """Return the spelled units of a text."""
        if text.isascii() and text.isalpha():  # most words
            return [Spelled(f" {self._normalise(text)}", 0, None)]
        found = []
        for start, end in unit_spans(text):
            unit = text[start:end]
            spelled, places = self._spell_unit(unit)
            found.append(Spelled(spelled if has_unspaced(unit[0]) else f" {spelled}", start, places))
        return found

    def texts(self, text: str) -> list[str]:
        """Return the texts of the spelled units of a text."""
        return [unit for chunk in chunks(text) for unit in self._chunks[chunk]]

    def _spell_unit(self, unit: str) -> tuple[str, Sequence[Span] | None]:
        """Return a unit as models see it, and the places of its characters."""
        if unit.isascii() or not has_marks(unit):  # most often, each character becomes one
            spelled = self._normalise(unit)
            if len(spelled) == len(unit):
                return spelled, None
        letters = letter_spans(unit)
        found = [(self._normalise(unit[start:end]), start, end) for start, end in letters]
        if not any(spelled for spelled, _, _ in found):  # a unit of which nothing would be left stays as it is
            found = [(_replace_surrogates(unit[start:end]), start, end) for start, end in letters]
        kept: list[tuple[str, int, int]] = []
        for spelled, start, end in found:
            if spelled:
                kept.append((spelled, start if kept else 0, end))
            elif kept:  # what is left out belongs to the letter before it
                kept[-1] = kept[-1][0], kept[-1][1], end
        places = [(start, end) for spelled, start, end in kept for _ in spelled]
        return "".join(spelled for spelled, _, _ in kept), places


def normaliser(config: TextConfig) -> Callable[[str], str]:
    """Return the function that turns a letter of the user's into what models see; of some, nothing is left."""
    form = "NFKC" if config.compatibility else "NFC"
    steps: list[Callable[[str], str]] = [lambda letter: unicodedata.normalize(form, letter)]
    if config.plain_punctuation:
        steps.append(lambda letter: letter.translate(_PLAIN))
    if config.lowercase:
        steps.append(lambda letter: letter.lower().replace("ς", "σ"))
    if config.sharp_s:
        steps.append(lambda letter: letter.replace("ß", "ss").replace("ẞ", "SS"))
    if config.strip_diacritics:
        steps.append(_strip_diacritics)

    def normalise(letter: str) -> str:
        if letter.isascii() and letter.isalnum():  # most often, and nothing but its case can change
            return letter.lower() if config.lowercase else letter
        result = letter
        for step in steps:
            result = step(result)
        return _LEFT_OUT.sub("", _replace_surrogates(result))

    return normalise


def _replace_surrogates(text: str) -> str:
    """Return text whose surrogate pairs are characters; half a pair, which is no character, becomes �."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _strip_diacritics(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))
