"""Parallel text in archives as OPUS has them: a .zip with the members ``NAME.de-en.de`` and ``NAME.de-en.en``."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from weft.errors import WeftError
from weft.text.memories import is_language
from weft.text.streams import Input

_DAMAGE = (OSError, EOFError, RuntimeError, ValueError, struct.error, zipfile.BadZipFile)  # RuntimeError: encrypted
_MOST_NAMED = 10  # texts in a message
_LONGEST_NAME = 200  # of a member that may hold text


class _Text(NamedTuple):
    """What the names of two members have in common, and how each ends."""

    name: str
    languages: tuple[str, str]


@contextlib.contextmanager
def open_archive(name: str, languages: tuple[str, ...] = ()) -> Iterator[tuple[Input, Input]]:
    """Open both sides of the text in an archive, in the order of ``languages``, or of the members' names."""
    with contextlib.ExitStack() as opened:
        try:
            archive = opened.enter_context(zipfile.ZipFile(name))
            text = _chosen(name, _texts(archive.namelist()), languages)
            members = [archive.getinfo(f"{text.name}.{language}") for language in text.languages]
            if any(one.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} for one in members):
                raise WeftError(f"{name}: of a kind of compression that can be a bomb; unpack it")
            streams = [opened.enter_context(archive.open(member)) for member in members]
        except _DAMAGE as error:
            raise WeftError(f"{name}: cannot be read: {str(error)[:100]}") from None
        # The bytes that are passed over count as read in proportion.
        share = os.path.getsize(name) / max(1, sum(member.file_size for member in members))
        sides = [_side(f"{name}/{one.filename}", stream, share) for one, stream in zip(members, streams, strict=True)]
        yield sides[0], sides[1]


def _side(name: str, stream: IO[bytes], share: float) -> Input:
    return Input(name, io.BufferedReader(stream, 1 << 16), lambda: round(stream.tell() * share))  # pyrefly: ignore


def _texts(members: Sequence[str]) -> list[_Text]:
    """Return all texts, in the order of their languages in the members' names."""
    endings: dict[str, set[str]] = defaultdict(set)
    for member in members:
        name, _, ending = member.rpartition(".")
        is_hidden = os.path.basename(name).startswith(".")  # as what macOS puts beside real files
        if not is_hidden and len(member) <= _LONGEST_NAME:
            endings[name].add(ending)
    found = []
    for name, languages in endings.items():
        both = name.rpartition("/")[2].rpartition(".")[2]
        for first in sorted(languages):
            second = both.removeprefix(f"{first}-")
            if second in languages - {first}:
                found.append(_Text(name, (first, second)))
    return found


def _chosen(archive: str, texts: list[_Text], languages: tuple[str, ...]) -> _Text:
    if not texts:
        raise WeftError(f"{archive}: expected two members such as NAME.de-en.de and NAME.de-en.en, as those of OPUS")
    orders = [_Text(name, order) for name, (one, other) in texts for order in ((one, other), (other, one))]
    fitting = [text for text in orders if all(map(is_language, text.languages, languages))] if languages else texts
    if len(fitting) == 1:
        return fitting[0]
    named = ", ".join(text.name for text in texts[:_MOST_NAMED])
    if not fitting:
        raise WeftError(f"{archive}: has no text in {languages[0]} and {languages[1]}, but {named}")
    raise WeftError(f"{archive}: has {len(fitting)} texts ({named}); choose with --languages, or unpack it")
