"""Files with labels, read in units: a line, or the lines of a sentence; with each, a line of the translation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from weft.errors import WeftError
from weft.text.reading import Lines, check_stdin, decode_line, open_lines, side_by_side

_MOST_UNITS = 2_000  # of a block, which a process works on at a time
_MOST_BYTES = 1 << 24  # of a block, and of a sentence


class Unit(NamedTuple):
    """A labelled sentence as it is in a file, and its translation."""

    file: str
    line: int  # its first one
    text: str
    target: str | None  # None: the text holds it


class Block(NamedTuple):
    """Some units, not decoded yet."""

    file: str
    target_file: str
    units: list[tuple[int, bytes]]  # line number and lines
    targets: list[tuple[int, bytes]] | None
    bytes_read: int  # of the files while this block was read, for progress

    def decoded(self) -> Iterator[Unit]:
        """Yield the units. Raises BadLine."""
        for index, (line, raw) in enumerate(self.units):
            lines = (_text(one, self.file, number) for number, one in enumerate(raw.split(b"\n"), line))
            target = (
                None
                if self.targets is None
                else _text(self.targets[index][1], self.target_file, self.targets[index][0])
            )
            yield Unit(self.file, line, "\n".join(lines), target)


def _text(line: bytes, file: str, number: int) -> str:
    return decode_line(line, file, number).removesuffix("\r")


def read_blocks(file: str, target: str, has_token: Callable[[str], bool] | None) -> Iterator[Block]:
    """Read a file with labels and one with a line of translation for each of its units; "" if there is none.

    A unit is a line; or, if ``has_token`` tells which lines have a token, the lines between two blank ones.
    """
    check_stdin((file, target))
    names = [name for name in (file, target) if name]
    shown = ["stdin" if name == "-" else name for name in (file, target)]
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open_lines(name)) for name in names]
        units = enumerate(opened[0], 1) if has_token is None else _sentences(opened[0], shown[0], has_token)
        rows = side_by_side(names, [units, *(enumerate(lines, 1) for lines in opened[1:])], "sentences")
        held: list[tuple[tuple[int, bytes], ...]] = []
        size = 0

        def block() -> Block:
            columns = [list(column) for column in zip(*held, strict=True)]
            read = sum(lines.bytes_read() for lines in opened)
            return Block(shown[0], shown[1], columns[0], columns[1] if target else None, read)

        for row in rows:
            held.append(row)
            size += sum(len(lines) for _, lines in row)
            if len(held) == _MOST_UNITS or size >= _MOST_BYTES:
                yield block()
                held, size = [], 0
        if held:
            yield block()


def _sentences(lines: Lines, file: str, has_token: Callable[[str], bool]) -> Iterator[tuple[int, bytes]]:
    """Yield sentences, each with the number of its first line; what has no token goes with the sentence after it."""
    held: list[bytes] = []
    first, size, is_sentence = 1, 0, False
    for number, line in enumerate(lines, 1):
        if line.strip():
            is_sentence = is_sentence or has_token(line.decode("utf-8", "replace"))
        elif is_sentence:
            yield first, b"\n".join(held)
            held, size, is_sentence = [], 0, False
            continue
        elif not held:
            continue
        if not held:
            first = number
        held.append(line)
        size += len(line) + 1
        if size > _MOST_BYTES:
            raise WeftError(
                f"{file}:{first}: a sentence of more than {_MOST_BYTES >> 20} MB; is there no blank line after it?"
            )
    if is_sentence:
        yield first, b"\n".join(held)
