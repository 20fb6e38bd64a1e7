"""A lexicon as a folder of files: ``lex.s2t`` and ``lex.t2s``, ``dictionary.tsv``, ``dictionary.tbx``."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from weft.apply.block_counts import BlockCounts
from weft.apply.dictionaries import Entry, Least, PhraseCounts
from weft.apply.tbx import TBX_END, TBX_START, check_languages, tbx_concept
from weft.apply.word_probabilities import WordCounts
from weft.errors import WeftError
from weft.progress import Progress
from weft.storage import atomic_folder

FormatName = Literal["lex", "dictionary", "tbx"]
_FILES = {"lex.s2t", "lex.t2s", "dictionary.tsv", "dictionary.tbx"}
_COLUMNS = ("source", "target", "count", "p(target|source)", "p(source|target)", "line", "source text", "target text")
_MOST_WORDS = 20  # of a phrase


@dataclass(frozen=True)
class LexiconSettings:
    """What a lexicon has."""

    formats: tuple[FormatName, ...] = ("lex", "dictionary")
    languages: tuple[str, str] | None = None
    """Of source and target; for TBX."""
    longest: int = 4
    """Words of a phrase."""
    raw: bool = False
    """Words are those of running text; otherwise they are between spaces."""
    least: Least = field(default_factory=Least)

    def __post_init__(self) -> None:
        if not self.formats:
            raise WeftError("a lexicon without a format; choose some of lex, dictionary, tbx")
        if not 1 <= self.longest <= _MOST_WORDS:
            raise WeftError(f"the longest phrase has 1 to {_MOST_WORDS} words, not {self.longest}")
        if "tbx" in self.formats:
            if self.languages is None:
                raise WeftError("TBX names its languages: give their codes, such as --languages de en")
            check_languages(self.languages)

    @property
    def counted_words(self) -> int:
        """How many words the phrases have that must be counted."""
        return self.longest if {"dictionary", "tbx"} & set(self.formats) else 0


def check_folder(folder: Path) -> None:
    """Raise WeftError if there is something in the way that is not an older lexicon."""
    if folder.is_dir():
        for path in folder.iterdir():
            if path.name not in _FILES:
                raise WeftError(f"{folder}: has other files, such as {path.name}; choose another folder")


def write_lexicon(
    folder: Path, blocks: Iterable[BlockCounts], settings: LexiconSettings, progress: Progress | None = None
) -> None:
    """Write a lexicon of what was counted in blocks. It takes the place of an older one."""
    check_folder(folder)
    progress = progress or Progress(visible=False)
    with atomic_folder(folder) as partial, tempfile.TemporaryDirectory(dir=partial) as name:
        words = WordCounts(Path(name)) if "lex" in settings.formats else None
        phrases = PhraseCounts(Path(name), settings.raw) if settings.counted_words else None
        for block in blocks:
            for counts in (words, phrases):
                if counts is not None:
                    counts.add(block)
        if words is not None:
            words.write(partial / "lex.s2t", partial / "lex.t2s", progress)
        if phrases is not None:
            _write_entries(partial, phrases.entries(settings.least, progress), settings)


def _write_entries(folder: Path, entries: Iterable[Entry], settings: LexiconSettings) -> None:
    """Write the files that have entries."""
    with contextlib.ExitStack() as stack:

        def opened(form: FormatName, name: str) -> IO[str] | None:
            wanted = form in settings.formats
            return stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n")) if wanted else None

        table, terms = opened("dictionary", "dictionary.tsv"), opened("tbx", "dictionary.tbx")
        if table is not None:
            table.write("\t".join(_COLUMNS) + "\n")
        if terms is not None:
            terms.write(TBX_START)
        for number, (_, group) in enumerate(itertools.groupby(entries, lambda entry: entry.source.lower()), 1):
            found = list(group)
            if table is not None:
                table.writelines(map(_row, found))
            if terms is not None and settings.languages is not None:
                terms.write(tbx_concept(found, number, settings.languages))
        if terms is not None:
            terms.write(TBX_END)


def _row(entry: Entry) -> str:
    numbers = f"{entry.count}\t{entry.forward:.4f}\t{entry.backward:.4f}\t{entry.line}"
    return f"{entry.source}\t{entry.target}\t{numbers}\t{entry.source_example}\t{entry.target_example}\n"
