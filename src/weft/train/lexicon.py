"""What attention says about words in general, to correct what it says about them in one sentence.

Attention goes by context, and context misleads it: where German has a comma and a clause with `zu`, English has `to`,
and the comma tells of it first. But commas and `to` meet in many sentences and are seldom linked in them, while `zu`
and `to` mostly are. So a first pass over some text finds how much of the attention that it could get each pair of
pieces does get,

    rate(s, t) = (Σ A(s, t) + 2) / (Σ meetings of s and t + 4),

the mean attention of both directions over the number of links that there is room for: in a sentence pair, the times
that the rarer one of the two is there. Then the attention of a sentence is weighted by the odds of its pairs,

    A'(s, t) ∝ A(s, t) · √(odds(rate(s, t)) / odds(1/5)),

where end-of-sentence, the null word, keeps its weight: pairs with a rate of more than a fifth gain, others lose.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.corpus.packing import PackedRows
from weft.model.rows import Attend, Attention, PairRows, Rows, is_word
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.task import ResidentRows

MOST_PIECES = 16_384
"""Of the vocabulary's first and most frequent pieces; the table has a cell for each pair of them."""
_UNIT = 256  # of attention: sums of whole numbers are the same in any order
_SEEN, _LINKED = 4, 2  # meetings that every pair is taken to have had, and links in them
_NEUTRAL = 1 / 5  # the rate whose pairs keep their attention
_BATCH_ROWS = 64


class Lexicon:
    """The rates of all pairs of pieces."""

    def __init__(self, vocabulary: int, device: torch.device) -> None:
        self._size = min(vocabulary, MOST_PIECES)
        self._attention, self._meetings = (
            torch.zeros(self._size**2, dtype=torch.int32, device=device) for _ in range(2)
        )

    @torch.no_grad()
    def add(self, pair: PairRows, attention: Attention) -> None:
        """Take note of what was attended to in a batch."""
        known, numbers = self._known(pair)
        mean = (attention.forward + attention.backward) / 2
        self._attention.index_add_(0, numbers[known], (mean[known] * _UNIT).round().int())
        (targets, first_target), (sources, first_source) = _occurrences(pair.target), _occurrences(pair.source)
        meeting = known & first_target[:, :, None] & first_source[:, None]
        room = torch.minimum(targets[:, :, None], sources[:, None])  # (batch, target, source)
        self._meetings.index_add_(0, numbers[meeting], room[meeting].int())

    @torch.no_grad()
    def corrected(self, pair: PairRows, attention: Attention) -> Attention:
        """Attention as weighted by the rates of its pairs."""
        known, numbers = self._known(pair)
        rates = (self._attention[numbers] / _UNIT + _LINKED) / (self._meetings[numbers] + _SEEN)
        rates = rates.clamp(1e-4, 1 - 1e-4)
        weights = (rates / (1 - rates) * (1 - _NEUTRAL) / _NEUTRAL).sqrt()
        weights = torch.where(known, weights, 1.0)
        forward, backward = attention.forward * weights, attention.backward * weights
        return Attention(_normalised(forward, 2), _normalised(backward, 1))

    def _known(self, pair: PairRows) -> tuple[Tensor, Tensor]:
        """The cells between pieces that the table has, and their numbers in it; twice (batch, target, source)."""
        target, source = (torch.where(side.ids < self._size, side.ids, 0).long() for side in (pair.target, pair.source))
        words = [is_word(side.ids) & (side.ids < self._size) for side in (pair.target, pair.source)]
        known = pair.cells() & words[0][:, :, None] & words[1][:, None]
        return known, target[:, :, None] * self._size + source[:, None]


def _occurrences(side: Rows) -> tuple[Tensor, Tensor]:
    """How often each piece is in its sentence, and whether it is there for the first time; twice (batch, length)."""
    same = (side.ids[:, :, None] == side.ids[:, None]) & (side.segments[:, :, None] == side.segments[:, None])
    return same.sum(2), ~same.tril(-1).any(2)


def _normalised(attention: Tensor, dim: int) -> Tensor:
    """Sums of one along a dimension, but for rows of padding."""
    return attention / attention.sum(dim, keepdim=True).clamp(min=1e-9)


def corrected_by_lexicon(attend: Attend, packed: PackedRows, pairs: int, vocabulary: int, process: Process) -> Attend:
    """A way to attend, corrected by the lexicon that it makes of about so many pairs of some text."""
    lexicon = Lexicon(vocabulary, process.device)
    rows = ResidentRows(packed, process.device)
    count = len(packed) if pairs >= len(packed.pairs) else -(-len(packed) * pairs // len(packed.pairs))
    with Progress(visible=process.first) as progress:
        progress.phase("lexicon", count, "rows")
        spread = torch.arange(count, device=process.device) * len(packed) // count
        for batch in spread.split(_BATCH_ROWS):
            pair = rows.pair(batch)
            lexicon.add(pair, attend(pair))
            progress.advance(len(batch))
    return lambda pair: lexicon.corrected(pair, attend(pair))
