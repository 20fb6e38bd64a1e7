"""Translation memories: which two of an entry's languages make a sentence pair.

``xml_memories`` and ``catalogues`` read entries of TMX, XLIFF and gettext files; ``reading`` puts pairs into blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.errors import WeftError
from weft.text.streams import LONGEST_LINE, TOO_LONG
from weft.text.words import split_spaces

TRANSLATION = "translation"
"""What Hugging Face's data sets call the texts of a row, by their languages."""
_MOST_NAMED = 20  # languages in a message, and letters of each
_WHICH_TWO = (
    "say which two to read with --languages, "
    """or the setting languages='["de", "en"]' of prepare, train and tune"""
)

Texts = list[tuple[str, str]]
"""Languages, "" where a file does not say, each with its text."""


class Entry(NamedTuple):
    """What a memory has for one text: the text in one language or more, the source language first."""

    line: int
    """Of the file, where the entry begins."""
    texts: Texts


class MemoryPair(NamedTuple):
    """A sentence pair as UTF-8, each side one line."""

    source: bytes
    target: bytes
    line: int


def memory_pairs(file: str, entries: Iterable[Entry], languages: tuple[str, ...] = ()) -> Iterator[MemoryPair]:
    """Yield the pairs of two ``languages``, in this order; without any, of the two that there are, source first.

    Entries that lack one of them are left out. Raises WeftError if that leaves nothing, or if there are more than two
    languages and none were chosen.
    """
    chosen = languages
    seen: set[str] = set()
    empty = True
    for entry in entries:
        texts = _one_of_each(entry.texts)
        if len(seen) < _MOST_NAMED:
            seen.update(language[:_MOST_NAMED] for language, _ in texts)
        if not chosen and len(texts) > 1:
            chosen = _languages_of(texts[:2])
        sides = list(_sides(texts, chosen))
        if not languages and len(texts) > max(1, len(sides)):
            here = {language for language, _ in texts}
            named = _named(here | {code for code in chosen if not any(is_language(one, code) for one in here)})
            raise WeftError(f"{file}:{entry.line}: more than two languages ({named}): {_WHICH_TWO}")
        if len(sides) == 2:
            empty = False
            yield MemoryPair(_as_line(sides[0]), _as_line(sides[1]), entry.line)
    if empty and seen:
        both = f"both {languages[0]} and {languages[1]}" if languages else "text in two languages"
        raise WeftError(f"{file}: no entry has {both}; its languages: {_named(seen)}")


def _named(languages: set[str]) -> str:
    return ", ".join(sorted(language[:_MOST_NAMED] or "unknown" for language in languages)[:_MOST_NAMED])


def _one_of_each(texts: Texts) -> Texts:
    """Return the first text of each language, without those that are empty."""
    found: Texts = []
    seen = set()
    for language, text in texts:
        if text.strip() and not (language and language in seen):
            seen.add(language)
            found.append((language, text))
    return found


def two_of(codes: Sequence[str], languages: tuple[str, ...]) -> tuple[str, str] | None:
    """Return which two of the codes are of ``languages``, in this order; without any, both that there are, or None."""
    found = [next((one for one in codes if is_language(one, wanted)), "") for wanted in languages] or list(codes)
    return (found[0], found[1]) if len(found) == 2 and all(found) else None


def which_two(codes: Sequence[str]) -> str:
    """Return the problem with languages of which ``two_of`` can choose no two."""
    return f"its languages are {_named(set(codes)) or 'not named'}: {_WHICH_TWO}"


def _languages_of(texts: Texts) -> tuple[str, ...]:
    """Return the languages of two texts, without their regions unless these alone tell them apart."""
    full = tuple(language for language, _ in texts)
    plain = tuple(map(primary, full))
    return full if len(set(plain)) < len(set(full)) else plain


def _sides(texts: Texts, languages: tuple[str, ...]) -> Iterator[str]:
    """Yield the text of each language, or one of which the file does not say the language. Those missing are left out.

    No text is taken twice: one in en-US would do for en-US and for en.
    """
    left = list(texts)
    for wanted in languages:
        fitting = [one for one in left if not one[0] or is_language(one[0], wanted)]
        if fitting:
            best = min(fitting, key=lambda one: (not one[0], _plain(one[0]) != _plain(wanted)))
            left.remove(best)
            yield best[1]


def is_language(code: str, wanted: str) -> bool:
    """Tell whether a code such as en-US or EN_us is of a wanted language such as en or en-us."""
    return f"{_plain(code)}-".startswith(f"{_plain(wanted)}-")


def primary(code: str) -> str:
    """Return the language alone of a code such as en-US."""
    return _plain(code).partition("-")[0]


def _plain(code: str) -> str:
    return code.lower().replace("_", "-")


def _as_line(text: str) -> bytes:
    """Return a text with all white space as single spaces."""
    line = " ".join(split_spaces(text)).encode()
    return TOO_LONG if len(line) > LONGEST_LINE else line
