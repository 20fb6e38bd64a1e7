"""Batches of sentence pairs to align: a sentence a row, with the words that its pieces are part of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from weft.align.batched_aligner import PackedPairs, Sentences
from weft.model.rows import Rows
from weft.text.subwords import END, PAD


class SentenceRows(NamedTuple):
    """One side of a batch."""

    rows: Rows
    is_piece: Tensor  # (batch, length); the rest is padding and ends of sentences
    first: Tensor  # (batch, length): the first word that each piece is part of
    last: Tensor  # (batch, length); less than ``first``, or −1, if it is part of none
    words: int  # of the sentence that has most
    spread: int  # words that one piece is part of, at most

    def summed(self, cells: Tensor) -> Tensor:
        """Return the sum over the pieces of each word. (batch, length, x) → (batch, words, x)"""
        word = torch.arange(self.words, device=cells.device)[:, None]
        is_part = (self.first[:, None] <= word) & (word <= self.last[:, None])  # (batch, words, length)
        return is_part.to(cells.dtype) @ cells

    def greatest(self, cells: Tensor) -> Tensor:
        """Return the greatest value among the pieces of each word. (batch, length, x) → (batch, words, x)"""
        found = cells.new_zeros(len(cells), self.words + 1, cells.shape[2])  # the last is for pieces without a word
        for place in range(self.spread):
            word = self.first + place
            word = torch.where((word >= 0) & (word <= self.last), word, self.words).long()
            found.scatter_reduce_(1, word[:, :, None].expand_as(cells), cells, "amax")
        return found[:, :-1]


def sentence_rows(pairs: PackedPairs, device: torch.device) -> Iterator[tuple[SentenceRows, SentenceRows]]:
    """Yield source and target of each batch."""
    return zip(_batches(pairs.source, pairs.sizes, device), _batches(pairs.target, pairs.sizes, device), strict=True)


def _batches(sentences: Sentences, sizes: list[int], device: torch.device) -> Iterator[SentenceRows]:
    ids, lengths, first = (torch.from_numpy(one).to(device, non_blocking=True) for one in sentences[:3])
    is_of_one = sentences.last is sentences.first
    last = first if is_of_one else torch.from_numpy(sentences.last).to(device, non_blocking=True)
    begin, begin_piece = 0, 0
    for size in sizes:
        own = slice(begin, begin + size)
        pieces = slice(begin_piece, begin_piece + int(sentences.lengths[own].sum()))
        begin, begin_piece = own.stop, pieces.stop
        length = lengths[own, None]
        place = torch.arange(int(sentences.lengths[own].max()) + 1, device=device)
        is_piece = place < length
        in_rows = torch.where(place == length, END, _filled(is_piece, ids[pieces], PAD))
        rows = Rows(in_rows, -(place > length).int(), place.expand_as(in_rows))
        of_first = _filled(is_piece, first[pieces], -1)
        of_last = of_first if is_of_one else _filled(is_piece, last[pieces], -1)
        words = max(1, int(sentences.last[pieces].max(initial=-1)) + 1)
        spread = 1 if is_of_one else int((sentences.last[pieces] - sentences.first[pieces]).max(initial=0)) + 1
        yield SentenceRows(rows, is_piece, of_first, of_last, words, spread)


def _filled(places: Tensor, values: Tensor, elsewhere: int) -> Tensor:
    """Return values in the given places, one after the other, and a number elsewhere. (batch, length)"""
    return torch.full_like(places, elsewhere, dtype=values.dtype).masked_scatter_(places, values)
