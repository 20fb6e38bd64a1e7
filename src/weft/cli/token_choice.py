"""The option ``--tokens`` of ``weft align``: the tokens that links are wanted for, and where the links go."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from weft.align.alignment import Alignment
from weft.apply.tokens import Tokenizer, found_in, icu, moses, retokenised, sentencepiece, spaces
from weft.errors import WeftError
from weft.text.reading import Block, decode_line, open_lines
from weft.text.words import split_spaces

_KINDS = {  # how each is written, and how many arguments it can have
    "spm": ("spm:MODEL", (1, 2)),
    "spaces": ("spaces", (0,)),
    "icu": ("icu:LOCALE", (0, 1, 2)),
    "moses": ("moses:LANGUAGE", (1, 2)),
    "files": ("files:SOURCE,TARGET", (2,)),
}


@dataclass(frozen=True)
class TokenChoice:
    """One kind of tokens."""

    kind: str
    source: str
    target: str
    """The model, locale, language or file of each side."""
    outputs: tuple[str, ...]
    """The files for the links and, if wanted, for the tokens of both sides; none: links go where all output goes."""

    @classmethod
    def parse(cls, text: str) -> TokenChoice:
        """Read ``KIND:SOURCE,TARGET=FILES``; one argument is for both sides."""
        chosen, _, files = text.partition("=")
        kind, _, argument = chosen.partition(":")
        arguments, outputs = ([one for one in part.split(",") if one] for part in (argument, files))
        if kind not in _KINDS or len(arguments) not in _KINDS[kind][1]:
            known = ", ".join(how for how, _ in _KINDS.values())
            raise WeftError(f"--tokens {text}: expected {known}; if the sides differ, two with a comma between them")
        if len(outputs) not in (0, 1, 3):
            raise WeftError(f"--tokens {text}: after = expected LINKS, or LINKS,SOURCE,TARGET to have the tokens, too")
        source, target = [*arguments, *arguments, "", ""][:2]
        return cls(kind, source, target, tuple(outputs))

    @property
    def inputs(self) -> list[str]:
        """The files that are read."""
        return [self.source, self.target] if self.kind in ("spm", "files") else []

    def check(self) -> None:
        """Raise WeftError or ModuleNotFoundError if a model or a library is missing."""
        if self.kind != "files":
            for argument in (self.source, self.target):
                _tokenizer(self.kind, argument)

    def view(self, alignment: Alignment, given: TokenLines, line: int) -> Alignment:
        """Return the alignment of the tokens of the pair in a line. Raises WeftError."""
        sides = (self.source, alignment.source.text), (self.target, alignment.target.text)
        if self.kind == "files":
            source, target = (found_in(text, given.tokens(name, line)) for name, text in sides)
        else:
            source, target = (_tokenizer(self.kind, argument)(text) for argument, text in sides)
        return retokenised(alignment, source, target)


@functools.cache
def _tokenizer(kind: str, argument: str) -> Tokenizer:
    """Return a tokenizer, which stays in memory."""
    if kind == "spaces":
        return spaces
    return {"spm": sentencepiece, "icu": icu, "moses": moses}[kind](argument)


class TokenLines(NamedTuple):
    """The lines of files of tokens that belong to a block of text."""

    first_line: int
    lines: dict[str, list[bytes]]  # of each file

    def tokens(self, file: str, line: int) -> list[str]:
        """Return the tokens of a line. Raises BadLine."""
        return split_spaces(decode_line(self.lines[file][line - self.first_line], file, line))


def with_token_lines(
    blocks: Iterable[Block], choices: Iterable[TokenChoice], skipped: int = 0, to_end: bool = True
) -> Iterator[tuple[Block, TokenLines]]:
    """Yield blocks, each with its lines of all files of tokens. Raises WeftError if a file has fewer or more lines.

    ``skipped`` is the number of lines before the first block, and ``to_end`` says whether the blocks are the last ones.
    """
    names = [name for choice in choices if choice.kind == "files" for name in choice.inputs]
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(open_lines(name)) for name in dict.fromkeys(names)}
        for file in files.values():
            file.skip(skipped)
        for block in blocks:
            lines = {name: list(itertools.islice(file, len(block.source))) for name, file in files.items()}
            for name, found in lines.items():
                if len(found) < len(block.source):
                    raise WeftError(
                        f"{name}: has fewer lines than the text; give a line of tokens for each of its lines"
                    )
            yield block, TokenLines(block.first_line, lines)
        for name, file in files.items():
            if to_end and next(file, None) is not None:
                raise WeftError(f"{name}: has more lines than the text; give a line of tokens for each of its lines")
