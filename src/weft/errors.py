"""Errors that users are meant to see: one line that says what is wrong, where, and what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager


class WeftError(Exception):
    """Bad input, or a situation that only the user can fix. Commands print it as one line and exit with 1."""


class BadLine(WeftError):
    """A line of text that cannot be used. What to do about it depends on the command: see `remedy_for_bad_lines`."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(file, line, problem)  # the arguments as they are, so that workers can send it by pickle
        self.file, self.line, self.problem = file, line, problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}"


@contextmanager
def remedy_for_bad_lines(remedy: str) -> Iterator[None]:
    """Append ``remedy`` to the message of a bad line."""
    try:
        yield
    except BadLine as bad:
        raise WeftError(f"{bad}; {remedy}") from None


def printable(text: str, keep: str = "\n\t") -> str:
    """Return ``text`` with its control characters escaped, but for those in ``keep``.

    Messages quote users' data, and nothing in it may move the cursor or turn the rest of a line around.
    """
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode() if _controls(character) and character not in keep else character
        for character in text
    )


def _controls(character: str) -> bool:
    """Tell whether a character is a control, a lone surrogate, a line separator or a change of writing direction."""
    if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
        return True
    return unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
