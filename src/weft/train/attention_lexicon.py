"""What attention says about words in general, to correct what it says about them in one sentence.

Attention goes by context, and context misleads it: if German has a comma and a clause with `zu`, English has `to`, and
attention finds the comma first. But commas and `to` meet in many sentences and are seldom linked in them, while `zu`
and `to` mostly are. A first pass over part of the text measures, for each pair of pieces, the share of its possible
attention that it receives:

    rate(s, t) = (Σ A(s, t) + 2) / (Σ meetings of s and t + 4),

the mean attention of both directions over the number of links that there is room for: in a sentence pair, the number of
times that the rarer one of the two occurs. Then the attention of a sentence is weighted by the odds of its pairs,

    A'(s, t) ∝ A(s, t) · √(odds(rate(s, t)) / odds(1/5)),

where end-of-sentence, the null word, keeps its weight: pairs with a rate of more than a fifth gain, others lose.

Only pairs that meet are stored: some millions, sorted by a number that stands for the pair.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from weft.corpus.packed_rows import PackedRows
from weft.model.rows import Attend, Attention, PairRows, Rows
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.task import pair_rows

# Prior and neutral rate were chosen on development sets of three language pairs (EXPERIMENTS.md).
_SEEN, _LINKED = 4, 2  # meetings that every pair is taken to have had, and links in them
_NEUTRAL = 1 / 5  # the rate whose pairs keep their attention
_LEAST_RATE = 1e-4  # rates keep this distance from 0 and 1, so that their odds are finite
_UNIT = 256  # of attention: sums of whole numbers are the same in any order
_BATCH_ROWS = 64
_LEAST_SUM = 1e-9  # of attention, to divide by


class Lexicon:
    """The rates of all pairs of pieces that have met."""

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        self._vocabulary = vocabulary
        # (pairs,): target piece · vocabulary + source piece, sorted; the last stands for all pairs that have not met
        self._pairs = torch.full((1,), torch.iinfo(torch.int64).max, device=device)
        self._counts = torch.zeros(1, 2, dtype=torch.int64, device=device)  # (pairs, 2): attention in units, meetings
        self._weights = _weights(self._counts)  # (pairs,)
        self._waiting: list[tuple[Tensor, Tensor]] = []  # pairs and counts of the latest batches

    @torch.no_grad()
    def add(self, pair: PairRows, attention: Attention) -> None:
        """Count what was attended to in a batch."""
        cells = pair.word_cells()
        mean = (attention.forward + attention.backward) / 2
        (targets, first_target), (sources, first_source) = _occurrences(pair.target), _occurrences(pair.source)
        room = torch.minimum(targets[:, :, None], sources[:, None])  # (batch, target, source)
        meetings = torch.where(first_target[:, :, None] & first_source[:, None], room, 0)
        units = (mean[cells] * _UNIT).round().long()
        self._waiting.append(_summed(self._numbers(pair)[cells], torch.stack([units, meetings[cells]], dim=1)))
        if sum(len(pairs) for pairs, _ in self._waiting) > len(self._pairs):  # so each pair is sorted a few times only
            self._merge()

    def _merge(self) -> None:
        """Put the counts of the latest batches into the table."""
        pairs, counts = zip((self._pairs, self._counts), *self._waiting, strict=True)
        self._pairs, self._counts = _summed(torch.cat(pairs), torch.cat(counts))
        self._weights = _weights(self._counts)
        self._waiting = []

    @torch.no_grad()
    def corrected(self, pair: PairRows, attention: Attention) -> Attention:
        """Return attention as weighted by the rates of its pairs."""
        if self._waiting:
            self._merge()
        cells = pair.word_cells()
        numbers = torch.where(cells, self._numbers(pair), 0)
        places = torch.searchsorted(self._pairs, numbers)  # (batch, target, source)
        weights = torch.where(self._pairs[places] == numbers, self._weights[places], self._weights[-1])
        weights = torch.where(cells, weights, 1.0)
        forward, backward = attention.forward * weights, attention.backward * weights
        return Attention(_normalised(forward, 2), _normalised(backward, 1))

    def _numbers(self, pair: PairRows) -> Tensor:
        """Return the numbers of the pairs of pieces in all cells. (batch, target, source)"""
        return pair.target.ids.long()[:, :, None] * self._vocabulary + pair.source.ids.long()[:, None]


def _weights(counts: Tensor) -> Tensor:
    """Return √(odds of the rate / odds of the neutral one) for counts (pairs, 2)."""
    rates = (counts[:, 0] / _UNIT + _LINKED) / (counts[:, 1] + _SEEN)
    rates = rates.clamp(_LEAST_RATE, 1 - _LEAST_RATE)
    return (rates / (1 - rates) * (1 - _NEUTRAL) / _NEUTRAL).sqrt()


def _summed(pairs: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return each pair once, sorted, with the sum of its counts; (pairs,) and (pairs, 2)."""
    unique, places = pairs.unique(return_inverse=True)
    return unique, counts.new_zeros(len(unique), 2).index_add_(0, places, counts)


def _occurrences(side: Rows) -> tuple[Tensor, Tensor]:
    """Return how often each piece is in its sentence, and whether it is there for the first time; (batch, length)."""
    same = (side.ids[:, :, None] == side.ids[:, None]) & (side.segments[:, :, None] == side.segments[:, None])
    return same.sum(2), ~same.tril(-1).any(2)


def _normalised(attention: Tensor, dim: int) -> Tensor:
    """Return attention with sums of one along a dimension, except in rows of padding."""
    return attention / attention.sum(dim, keepdim=True).clamp(min=_LEAST_SUM)


def corrected_by_lexicon(attend: Attend, packed: PackedRows, pairs: int, vocabulary: int, process: Process) -> Attend:
    """Return ``attend``, corrected by a lexicon of what it says about so many pairs of some text."""
    lexicon = Lexicon(vocabulary, process.device)
    count = len(packed) if pairs >= len(packed.pairs) else -(-len(packed) * pairs // len(packed.pairs))
    with Progress(visible=process.first) as progress:
        progress.phase("lexicon", count, "rows")
        for first in range(0, count, _BATCH_ROWS):
            rows = np.arange(first, min(first + _BATCH_ROWS, count)) * len(packed) // count
            pair = pair_rows(packed, rows, process.device)
            lexicon.add(pair, attend(pair))
            progress.advance(len(rows))
    return lambda pair: lexicon.corrected(pair, attend(pair))
