"""``weft symmetrize``: one file of links made of two."""

from __future__ import annotations

from typing import Annotated

import tyro

from weft.align.symmetrisation import symmetrise
from weft.config import Symmetrisation
from weft.errors import WeftError
from weft.links import format_links, read_links


def symmetrize(
    forward: Annotated[str, tyro.conf.Positional],
    backward: Annotated[str, tyro.conf.Positional],
    /,
    *,
    method: Symmetrisation = "grow-diag",
    reversed: bool = False,
) -> None:
    """Merge the links of the two directions, line by line, to stdout.

    Args:
        forward: Links of the source-to-target aligner, one sentence pair a line, such as 0-0 1-2.
        backward: Links of the target-to-source aligner; source word first, as in the other file.
        method: The rule; the names with lilt- let a link grow only where both its words are free.
        reversed: The second file has the target word first.
    """
    symmetrize_files(forward, backward, method, reversed)


def symmetrize_files(forward: str, backward: str, method: Symmetrisation, reversed: bool) -> None:
    """Print the merged links of two files."""
    forward_lines, backward_lines = read_links(forward), read_links(backward)
    if len(forward_lines) != len(backward_lines):
        raise WeftError(
            f"{forward} has {len(forward_lines):,} lines but {backward} has {len(backward_lines):,}; "
            "both need one line per sentence pair"
        )
    for first, second in zip(forward_lines, backward_lines, strict=True):
        other = frozenset((source, target) for target, source in second.sure) if reversed else second.sure
        print(format_links(symmetrise(first.sure, other, method)))
