"""``weft symmetrize``: one file of links made of two."""

from __future__ import annotations

from typing import Annotated

import tyro

from weft.align.symmetrisation import symmetrise
from weft.cli.options import Output
from weft.cli.output import open_output
from weft.config import Symmetrisation
from weft.links import format_links, read_links
from weft.text.reading import check_stdin, side_by_side


def symmetrize(
    forward: Annotated[str, tyro.conf.Positional],
    backward: Annotated[str, tyro.conf.Positional],
    /,
    *,
    merge: Symmetrisation = "grow-diag",
    reverse: bool = False,
    output: Output = None,
) -> None:
    """Merge the links of two directions, line by line.

    Args:
        forward: Links of the source-to-target aligner, one sentence pair a line, such as 0-0 1-2.
        backward: Links of the target-to-source aligner; source word first, as in the other file.
        merge: The rule; those with lilt- add a neighbour only if both its words are free, the others if one is.
        reverse: The second file has the target word first.
        output: Write into this file instead of stdout.
    """
    check_stdin((forward, backward))
    with open_output(output, (forward, backward)) as (out, _):
        for first, second in side_by_side((forward, backward), (read_links(forward), read_links(backward))):
            other = frozenset((source, target) for target, source in second.sure) if reverse else second.sure
            print(format_links(symmetrise(first.sure, other, merge)), file=out)
