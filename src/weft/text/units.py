"""Units: the stretches of text that are cut into pieces, found by one rule for all languages.

Units do not depend on what a user calls a word, so training and aligning, raw and tokenised text have the same ones:
``Haus.`` and ``Haus .`` are the units ``Haus`` and ``.``. No rule names a language. A unit holds no white space, with
two exceptions. Scripts without spaces between words (Chinese, Japanese, Thai and others) form runs, each of one script,
and white space inside a run counts for nothing: ``我爱北京`` and ``我 爱 北京`` are the same unit. So does white space
inside an Arabic word whose particles and pronouns stand apart in tokenised text: ``ل ه`` is the unit ``له``.
"""

from __future__ import annotations

import functools
import re
import unicodedata

Span = tuple[int, int]  # start and end of a stretch: text[start:end]

# -- characters, as the insides of regular expressions' [] -------------------------------------------------------------


@functools.cache
def _marks() -> str:
    """Return all characters that combine with the one before them: accents, vowel signs, selectors of variants."""
    ranges: list[list[int]] = [[0xE0100, 0xE01EF]]
    for number in range(0x20000):
        if unicodedata.category(chr(number))[0] == "M":
            if number == ranges[-1][1] + 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


_KANA_SIGNS = "\u3099-\u309c\u30fc\uff70\uff9e\uff9f"  # voiced and prolonged sounds, in hiragana and in katakana
_SCRIPTS = (  # without spaces between words; digits and punctuation are not part of them
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af",  # Chinese characters
    _KANA_SIGNS + "\u30a1-\u30fa\u30fd-\u30ff\u31f0-\u31ff\uff66-\uff9d\U0001b000",  # katakana
    _KANA_SIGNS + "\u3041-\u3096\u309d-\u309f\U0001b001-\U0001b11f",  # hiragana
    "\u0e01-\u0e3a\u0e40-\u0e4e",  # Thai
    "\u0e81-\u0ecf\u0edc-\u0edf",  # Lao
    "\u1780-\u17d3\u17d7\u17dc\u17dd",  # Khmer
    "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f",  # Myanmar
)
_UNSPACED = "".join(_SCRIPTS)
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # of variants of characters
# Invisible, and nothing to a reader: soft hyphens, joiners, byte order marks, marks of direction. They belong to the
# word that they follow. A zero-width space is white space, and so is what tokenisers write for a space, ▁.
INVISIBLE = "\u00ad\u061c\u180e\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0001-\U000e007f"
SPACE = "\\s\u200b\u2581"
_CYRILLIC = "\u0400-\u052f"
_ARABIC = "\u0621-\u063a\u0641-\u064a"
# Parts of Arabic words that are never words of their own: those before the rest of the word, and those after it.
_ARABIC_PARTS = "ب ف ك ل س", "ه ها هم هما هن نا ني ي"
_BEFORE = rf"(?<![^{SPACE}])(?:{_ARABIC_PARTS[0].replace(' ', '|')})[{SPACE}]++(?=[{_ARABIC}])"
_AFTER = rf"(?<=[{_ARABIC}])[{SPACE}]++(?:{_ARABIC_PARTS[1].replace(' ', '|')})(?![^{SPACE}])"
_SKIN = "\U0001f3fb-\U0001f3ff"  # tones of emoji
_FLAG = "\U0001f1e6-\U0001f1ff"  # letters that make flags in pairs

# -- the rule ----------------------------------------------------------------------------------------------------------

_LETTER = rf"[^\W\d_{_UNSPACED}]"
_ALPHANUMERIC = rf"[^\W{_UNSPACED}]"
# Words that lose their end before a vowel (French, Italian, Catalan, Greek) keep the apostrophe; elsewhere it begins
# what follows: sister 's, Ankara 'da.
_ELIDED = (
    "l|d|j|m|t|s|n|c|v|ch|qu|gl|un|all|dall|dell|nell|sull|coll|quell|bell|sant|quest|anch|cos|com|dov|quant|senz|mezz|"
    "tutt|nient|quand|jusqu|lorsqu|puisqu|quoiqu|presqu|quelqu|aujourd|po|απ|σ|μ|τ|θ|γι|παρ|κατ|αλλ|επ|υπ|αφ|εφ|μετ"
)
_WHOLE_THOUGH_ELIDED = r"aujourd['’]hui|quelqu['’]une?s?|presqu['’]île|prud['’]homm\w+"
_AFTER_ELISION = r"[aeiouyhœæàâäáèéêëìíîïòóôöùúûüαεηιουωάέήίόύώ\d]"
_ABBREVIATED = "mrs?|ms|dr|prof|st|jr|sr|sgt|inc|ltd|vs|etc|nr|bzw|usw|ca"  # nothing else ends in these and a dot
# An address ends at white space, before the punctuation after it, and where a script without spaces goes on.
_ADDRESS = rf"[^{SPACE}<>\"“”«»{_UNSPACED}\u3000-\u303f\uff01-\uff5e]"


@functools.cache  # compiled when first needed: that takes 40 ms
def _units() -> re.Pattern[str]:
    mark = _marks()
    more = mark + INVISIBLE  # goes on with whatever it follows
    run = rf"{_ALPHANUMERIC}(?:[^\W{_UNSPACED}]|[{more}]|(?<=[{_CYRILLIC}])['’](?=[{_CYRILLIC}]))*+"  # п'ять is whole
    # Marks of scripts without spaces are in the ranges of the scripts.
    runs = (f"[{script}](?:[{script}{SELECTORS}{INVISIBLE}]|[{SPACE}]++(?=[{script}]))*" for script in _SCRIPTS)
    host = rf"(?:{_ALPHANUMERIC}|-)++"
    return re.compile(
        rf"""
          (?:https?://|www\.){_ADDRESS}*(?<![.,;:!?)'’])
        | (?<!{_ALPHANUMERIC})(?<![.+-])(?:{_ALPHANUMERIC}|[.+-])++@{host}(?:\.{host})+   # me@a.org
        | (?:{_LETTER}\.){{2,}}                                        # U.S.
        | (?<![^\W_])(?i:{_ABBREVIATED}|[a-zà-ʯͰ-ϿЀ-ԯ])\.(?!\w)
        | (?i:{_WHOLE_THOUGH_ELIDED})
        | {_LETTER}+?(?=(?i:n['’]t)(?!\w)) | (?i:n['’]t)(?!\w)
        | (?<!['’])(?i:{_ELIDED})['’](?=(?i:{_AFTER_ELISION})|[{SPACE}]|$)
        | \d+(?:[.,:/٫٬]\d+)+                                          # 1,250.50 and 12:30 and 1/2
        | (?:{_BEFORE})*+{run}(?:[-‐‑]{run})*(?:{_AFTER})*+
        | (?<=[\w{mark}])['’]{_LETTER}(?:{_LETTER}|[{more}])*
        | (?<![^{SPACE}])['’]{_LETTER}{{1,2}}(?![^{SPACE}])          # the same in tokenised text: sister 's
        | \.{{2,}} | -{{2,}}
        | {"|".join(runs)}
        | [{_FLAG}]{{2}}
        | [^{SPACE}{INVISIBLE}](?:[{more}{_SKIN}\udc00-\udfff]|(?<=\u200d)[^\w{SPACE}])*
        """,
        re.VERBOSE,
    )


_CHUNKS = re.compile(rf"(?:{_BEFORE})*+[^{SPACE}]++(?:[{SPACE}]++(?=[{_UNSPACED}])[^{SPACE}]++|{_AFTER})*+")
_MAY_JOIN = frozenset(" ".join(_ARABIC_PARTS).split())
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")


@functools.cache
def _letters() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a letter with its marks, and what finds white space and marks alone."""
    # Beside marks, the vowels and finals of Korean syllables, voiced sounds of half-width Japanese, and the second half
    # of a surrogate pair go on with a letter.
    mark = rf"{_marks()}{INVISIBLE}\u1160-\u11ff\ud7b0-\ud7fb\uff9e\uff9f\udc00-\udfff"
    return re.compile(rf"[^{SPACE}][{mark}]*"), re.compile(f"[{SPACE}{mark}]")


def unit_spans(text: str) -> list[Span]:
    """Return the spans of the units of ``text``, in time linear in its length."""
    if text.isalpha() and not has_unspaced(text):  # most words: letters alone are one unit
        return [(0, len(text))]
    return [match.span() for match in _units().finditer(text)]


def chunk_spans(text: str) -> list[Span]:
    """Return spans of ``text`` that no unit crosses: words between white space, or longer in scripts without it."""
    return [match.span() for match in _CHUNKS.finditer(text)]


def chunks(text: str) -> list[str]:
    """Return the stretches of ``chunk_spans``."""
    return text.split() if text.isascii() else _CHUNKS.findall(text)


def has_unspaced(text: str) -> bool:
    """Return whether a character of ``text`` is of a script without spaces between words."""
    return not text.isascii() and _HAS_UNSPACED.search(text) is not None


def may_join(word: str) -> bool:
    """Return whether units may cross the white space beside ``word``."""
    return has_unspaced(word) or word in _MAY_JOIN


def letter_spans(text: str) -> list[Span]:
    """Return the spans of the letters of ``text`` as a reader sees them, each with its marks."""
    return [match.span() for match in _letters()[0].finditer(text)]


def has_marks(text: str) -> bool:
    """Return whether ``text`` has white space or letters of several characters."""
    return _letters()[1].search(text) is not None
