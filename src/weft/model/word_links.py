"""Links between words from the attention between their pieces, computed where torch computes.

The rules are those of ``align.attention_to_links``, which says what they mean. That module lists the few cells that
compete, as suits a processor; this one looks at all cells at once, as suits a GPU.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from weft.align.attention_to_links import BESIDE, SURE
from weft.align.batched_aligner import BatchLinks, PairBatch, Sentences
from weft.model.rows import Attention


class PieceWords(NamedTuple):
    """The words of one side of a batch, by their pieces."""

    is_piece: Tensor  # (batch, length); the rest is padding and ends of sentences
    first: Tensor  # (batch, length): the first word that each piece is part of; ``words`` if it is part of none
    last: Tensor  # (batch, length)
    words: int  # of the sentence that has most
    spread: int  # words that one piece is part of, at most

    @classmethod
    def of(cls, sentences: Sentences, length: int, device: torch.device) -> PieceWords:
        """Find the words of pieces in rows of ``length``."""
        words = max(1, int(sentences.last.max(initial=-1)) + 1)
        is_piece = torch.arange(length, device=device) < to_device(sentences.lengths, device)[:, None]
        begin, end = sentences.first, sentences.last
        first = in_rows(to_device(np.where(end < begin, words, begin), device), is_piece, words)
        last = first if end is begin else in_rows(to_device(end, device), is_piece, words)
        return cls(is_piece, first, last, words, int((end - begin).max(initial=0)) + 1)

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
            word = torch.where(word <= self.last, word, self.words).long()
            found.scatter_reduce_(1, word[:, :, None].expand_as(cells), cells, "amax")
        return found[:, :-1]


def to_device(values: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device, non_blocking=True)


def in_rows(values: Tensor, places: Tensor, fill: int) -> Tensor:
    """Return values in the given places of rows, one after the other, and ``fill`` elsewhere. (batch, length)"""
    return torch.full_like(places, fill, dtype=values.dtype).masked_scatter_(places, values)


def batch_links(attention: Attention, batch: PairBatch, threshold: float, matrices: bool) -> BatchLinks:
    """Return the links of a batch by the merge ``mean``."""
    forward, backward = (one.float() for one in attention)
    _, target_length, source_length = forward.shape
    source = PieceWords.of(batch.source, source_length, forward.device)
    target = PieceWords.of(batch.target, target_length, forward.device)
    probability = word_probability(forward, backward, source, target)
    linked = linked_words(probability, threshold).mT
    rows, sources, targets = linked.nonzero().unbind(1)
    found = (linked.sum((1, 2)), sources.int(), targets.int(), probability[rows, targets, sources])
    scores = pair_scores(forward + backward, source, target)
    counts, sources, targets, probabilities, scores = (one.cpu().numpy() for one in (*found, scores))
    matrix = probability.cpu().numpy() if matrices else None
    return BatchLinks(counts, sources, targets, probabilities, scores, matrix)


def word_probability(forward: Tensor, backward: Tensor, source: PieceWords, target: PieceWords) -> Tensor:
    """Return the probability of each link. (batch, target words, source words)

    p(s, t) = ½ · max over j in t of Σ over i in s of forward(j, i)
            + ½ · max over i in s of Σ over j in t of backward(j, i)
    """
    of_targets = target.greatest(source.summed(forward.mT).mT)
    of_sources = source.greatest(target.summed(backward).mT).mT
    return ((of_targets + of_sources) / 2).clamp(max=1)


def pair_scores(strength: Tensor, source: PieceWords, target: PieceWords) -> Tensor:
    """Return how well the sentences of each pair fit: the strongest cell of each piece, mean over both sides.

    ``strength`` (batch, target, source) is the sum of both directions' attention.
    """
    pieces = target.is_piece[:, :, None] & source.is_piece[:, None]
    strength = torch.where(pieces, strength, 0)
    best = (strength.amax(1).sum(1) + strength.amax(2).sum(1)) / 2
    return best / (source.is_piece.sum(1) + target.is_piece.sum(1)).clamp(min=1)


def linked_words(probability: Tensor, threshold: float) -> Tensor:
    """Return which words are linked, as a mask, by the rule of ``attention_to_links``. (batch, target, source)"""
    is_likely = (probability >= BESIDE * threshold) & (probability > 0)
    is_high = is_likely & (probability >= threshold)
    links = is_high & (probability >= SURE)
    while True:
        of_target, of_source = links.any(2, keepdim=True), links.any(1, keepdim=True)
        beside, around = neighbours(links)
        touches = beside | (is_high & around)
        is_open = (is_high & ~(of_target | of_source)) | (is_likely & touches & (of_target != of_source))
        left = torch.where(is_open & ~links, probability, 0)
        chosen = (left > 0) & (left == left.amax(1, keepdim=True)) & (left == left.amax(2, keepdim=True))
        if not chosen.any():
            return links
        links = links | chosen


def neighbours(links: Tensor) -> tuple[Tensor, Tensor]:
    """Return where a link is beside in the same row or column, and where one is anywhere around."""
    padded = F.pad(links, (1, 1, 1, 1))
    column = padded[:, :-2] | padded[:, 1:-1] | padded[:, 2:]  # of three, also at the borders
    beside = column[:, :, 1:-1] | padded[:, 1:-1, :-2] | padded[:, 1:-1, 2:]
    return beside, column[:, :, :-2] | column[:, :, 1:-1] | column[:, :, 2:]
