"""Pieces of sentences as tests give and read them: in lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.text.subwords import Pieces

Words = Sequence[int] | np.ndarray


def given_pieces(first: Words, last: Words | None = None) -> Pieces:
    """Return a sentence whose pieces are part of these words, from the first to the last; None: of one each."""
    of_first = np.array(first, np.int32)
    return Pieces(np.full(len(first), 5, np.int32), of_first, of_first if last is None else np.array(last, np.int32))


def listed(pieces: Pieces) -> tuple[list[int], list[int], list[int]]:
    """Return ids, first and last words as lists."""
    ids, first, last = (array.tolist() for array in pieces)
    return ids, first, last
