"""Lines of text for commands."""

from __future__ import annotations

from collections.abc import Iterator

from weft.errors import WeftError
from weft.text.corpus import open_lines


def read_text(name: str) -> Iterator[str]:
    """The lines of a text file or of stdin."""
    with open_lines(name) as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                shown = "stdin" if name == "-" else name
                raise WeftError(f"{shown}:{number}: invalid UTF-8 at byte {error.start + 1}; mend the line") from None
