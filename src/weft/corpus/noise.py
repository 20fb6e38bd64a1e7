"""Sentences as other people write them: the same words, spelled in other ways.

Training text has one spelling of most things, users have others: no diacritics, ss for ß, plain or typographic
quotation marks, full-width digits. A model that has seen both in training needs no rule for them. Each change is a
function of text with a name; it never adds, removes or exchanges words.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from itertools import count

Change = Callable[[str], str]


def _table(before: str, after: str) -> Change:
    """Return a change of single characters; ``after`` has a replacement for each, between spaces."""
    replaced = dict(zip(map(ord, before), after.split(" "), strict=True))
    return lambda text: text.translate(replaced)


_without_strokes = _table("đĐłŁøØæÆœŒıİ", "d D l L o O ae AE oe OE i I")


def without_diacritics(text: str) -> str:
    """Leave out the marks of Latin and Greek letters; those of other scripts make other letters."""
    letters: list[str] = []
    for character in unicodedata.normalize("NFD", _without_strokes(text)):
        marked = letters and unicodedata.combining(character)
        if not (marked and unicodedata.name(letters[-1][0], "").startswith(("LATIN", "GREEK"))):
            letters.append(character)
    return unicodedata.normalize("NFC", "".join(letters))


_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_HALF_WIDTH = {wide: code for code, wide in _FULL_WIDTH.items()}

_PLAIN = _table("“”„‟«»‘’‚–—…", '" " " " " " \' \' \' - - ...')


def _typographic(marks: str) -> Change:
    """Write plain double quotation marks as opening and closing ones, apostrophes and dashes as printers do."""

    def change(text: str) -> str:
        number = count()
        text = re.sub('"', lambda _: marks[next(number) % 2], text) if text.count('"') % 2 == 0 else text
        return re.sub(r"(?<=\w)'(?=\w|\s|$)", "’", text).replace(" - ", " – ").replace("...", "…")

    return change


def _old_german(text: str) -> str:
    """Write ß as before 1996: at the end of a word and before t."""
    return re.sub(r"(?<=[aeiouäöü])ss(?=t?\b|te)", "ß", text)


def _old_romanian(text: str) -> str:
    """Write î inside of words as before 1993, except in the name of the country and its language."""
    text = re.sub(r"(?<=\w)â", "î", re.sub(r"(?<=\w)Â", "Î", text))
    return re.sub(r"\b([Rr])omî", r"\1omâ", re.sub(r"\b([Ss])unt(em|eți)?\b", r"\1înt\2", text))


_ARABIC_MARKS = re.compile("[\u064b-\u0652\u0670\u0640]")
_JOINING = "بتثجحخسشصضطظعغفقكلمنهي"


def _stretched(text: str) -> str:
    """Put a tatweel into the first longer word."""
    return re.sub(rf"(?<=[{_JOINING}])(?=[{_JOINING}]\w\w)", "\u0640", text, count=1)


CHANGES: dict[str, tuple[str, Change]] = {  # each with its languages; without: all
    "no diacritics": ("cs da de el es et fi fr hu it nl pl pt ro sl sv tr vi", without_diacritics),
    "plain punctuation": ("", _PLAIN),
    "typographic punctuation": ("en es pt tr nl vi id ko hi da", _typographic("“”")),
    "low quotation marks": ("de cs bg ro pl hu et sl", _typographic("„“")),
    "angle quotation marks": ("fr it el ru uk ar", _typographic("«»")),
    "ss for ß": ("de", _table("ßẞ", "ss SS")),
    "old German spelling": ("de", _old_german),
    "umlauts in two letters": ("de", _table("äöüÄÖÜß", "ae oe ue Ae Oe Ue ss")),
    "Danish letters in two": ("da", _table("æøåÆØÅ", "ae oe aa Ae Oe Aa")),
    "cedillas": ("ro", _table("șțȘȚ", "ş ţ Ş Ţ")),
    "commas below": ("ro", _table("şţŞŢ", "ș ț Ș Ț")),
    "old Romanian spelling": ("ro", _old_romanian),
    "old Romanian spelling, no diacritics": ("ro", lambda text: without_diacritics(_old_romanian(text))),
    "е for ё": ("ru", _table("ёЁ", "е Е")),
    "full width": ("zh ja", lambda text: re.sub(r"\d+|[():;!?,]", lambda found: found[0].translate(_FULL_WIDTH), text)),
    "half width": ("zh ja ko", lambda text: text.translate(_HALF_WIDTH)),
    "no vowel marks": ("ar", lambda text: _ARABIC_MARKS.sub("", text)),
    "plain alef": ("ar", _table("أإآٱ", "ا ا ا ا")),
    "final letters": ("ar", lambda text: re.sub(r"ة\b", "ه", re.sub(r"ى\b", "ي", text))),
    "tatweel": ("ar", _stretched),
}


def respelled(sentence: str, language: str, share: float) -> str:
    """Spell a share of all sentences in another way, by one of the changes that make a difference to them.

    The choice depends on the sentence alone. Languages that the table does not know have the changes of all languages.
    """
    chosen = int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8, person=b"noise").digest(), "little")
    if chosen % 2**32 >= share * 2**32:
        return sentence
    known = (change for languages, change in CHANGES.values() if not languages or language in languages.split(" "))
    forms = [form for change in known if (form := change(sentence)) != sentence]
    return forms[(chosen >> 32) % len(forms)] if forms else sentence
