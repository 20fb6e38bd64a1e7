"""French as people write it, from text whose elisions and contractions were taken apart.

Some parallel corpora have ``de le accord`` for ``de l'accord`` and ``à le Canada`` for ``au Canada``. A model trained
on that has never seen ``du``, ``aux`` or ``l'énergie``. Writing half of its training sentences as usual shows it both.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence

_CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("de", "lequel"): "duquel",
    ("de", "lesquels"): "desquels",
    ("de", "lesquelles"): "desquelles",
    ("à", "lequel"): "auquel",
    ("à", "lesquels"): "auxquels",
    ("à", "lesquelles"): "auxquelles",
}
_ELIDED = {"le", "la", "de", "je", "me", "te", "se", "ne", "que", "jusque", "lorsque", "puisque", "quoique"}
_VOWELS = set("aeiouyœæ")
_NO_ELISION = {"onze", "onzième", "oui", "ouistiti", "uhlan"}  # they begin with a vowel, but nothing is elided
_ASPIRATED = (  # beginnings of words whose h is one
    "hach", "haie", "hain", "haï", "halte", "hamac", "hambourg", "hameau", "hampe", "hanche", "hand", "hangar", "hant",
    "harc", "hardi", "hareng", "hargn", "haricot", "harnais", "harp", "hasard", "hât", "hauss", "haut", "havre",
    "hérisson", "hernie", "héros", "hêtre", "heurt", "hibou", "hiérarch", "hockey", "hollande", "hollandais", "homard",
    "hongr", "hont", "horde", "hors", "hotte", "houe", "houille", "houle", "housse", "hublot", "huche", "huée", "huit",
    "hurl", "hutte",
)  # fmt: skip


def _begins_with_vowel(word: str) -> bool:
    """Tell whether the word before this one loses its last letter."""
    lower = word.lower()
    first = unicodedata.normalize("NFD", lower)[:1]
    if lower in _NO_ELISION:
        return False
    if first == "h":
        return not lower.startswith(_ASPIRATED)
    return first in _VOWELS and (first != "y" or lower in {"y", "yeux"})


def contracted(words: Sequence[str]) -> list[str]:
    """Return words as they are usually written, an elided one joined to the next.

    >>> contracted("le chef de le État parle à le ministre de la énergie".split())
    ['le', 'chef', 'de', "l'État", 'parle', 'au', 'ministre', 'de', "l'énergie"]
    """
    result: list[str] = []
    place = 0
    prefix = ""  # elided words that wait for the one they belong to
    while place < len(words):
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        after = words[place + 2] if place + 2 < len(words) else ""
        whole = _CONTRACTIONS.get((word.lower(), following.lower()))
        if whole and not (following.lower() == "le" and _begins_with_vowel(after)):
            result.append(prefix + (whole.capitalize() if word[:1].isupper() else whole))
            prefix, place = "", place + 2
            continue
        if _is_elided(word, following):
            prefix += f"{word[:-1]}'"
        else:
            result.append(prefix + word)
            prefix = ""
        place += 1
    return result


def _is_elided(word: str, following: str) -> bool:
    lower = word.lower()
    if not following or not following[0].isalpha():
        return False
    if lower == "si":
        return following.lower() in {"il", "ils"}
    if lower == "ce":
        return following[0].lower() in "eé" and following.lower() in {"est", "était", "étaient", "eût", "en"}
    return lower in _ELIDED and _begins_with_vowel(following)


def as_usual_or_not(sentence: str) -> str:
    """Contract half of all sentences. The choice depends on the sentence alone."""
    if hashlib.blake2b(sentence.encode(), digest_size=1).digest()[0] % 2:
        return " ".join(contracted(sentence.split(" ")))
    return sentence
