"""Markup transfer with links that a test gives instead of an aligner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.align.alignment import Alignment
from weft.apply.markup import TagHandling, parse_markup
from weft.apply.markup_transfer import sentences_to_align, with_markup


def transfer_by(
    links: str | None,
    source: str,
    target: str,
    handling: TagHandling = "html",
    *,
    ignore_tags: Sequence[str] = (),
    split: bool = False,
    placeholders: bool = False,
) -> str:
    """Return the target with the markup of the source.

    Links are ``0-0 1-2:0.4``, with probabilities other than 1, between words as they are cut for alignment; ``=``: each
    word is linked to that of the same number; None: nothing is known.
    """
    translation = parse_markup(target, handling, ignore_tags)
    marked = parse_markup(source, handling, ignore_tags, translation.text if placeholders else None)
    sentences = sentences_to_align(marked, translation)
    if links is None:
        return with_markup(marked, translation, Alignment(*sentences), split)
    matrix = np.zeros([len(sentence) for sentence in sentences], np.float32)
    if links == "=":
        np.fill_diagonal(matrix, 1)
    else:
        for link in links.split():
            words, _, probability = link.partition(":")
            row, column = map(int, words.split("-"))
            matrix[row, column] = float(probability or 1)
    return with_markup(marked, translation, Alignment(*sentences, matrix=matrix), split)
