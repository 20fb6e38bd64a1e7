"""From attention matrices of packed rows to links between pieces, as masks (batch, target, source)."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.model.rows import PairRows, Rows, is_word
from weft.text.subwords import END


def best_source_links(attention: Tensor, target: Rows, source: Rows) -> Tensor:
    """Return each target word's strongest cell, {(argmax_s A(t,s), t)}; none if that is end-of-sentence."""
    best = attention.argmax(2)  # (batch, target)
    linked = is_word(target.ids) & (source.ids.gather(1, best) != END)
    links = torch.zeros_like(attention, dtype=torch.bool)
    return links.scatter(2, best[:, :, None], linked[:, :, None])


def best_cell_links(forward: Tensor, backward: Tensor, target: Rows, source: Rows) -> Tensor:
    """Return the min(n, m) strongest cells of A_F ⊗ A_B in each sentence pair of n and m words.

    Both are (batch, target, source); ``forward`` sums to one over source words, ``backward`` over target words.
    """
    batch, targets, sources = forward.shape
    words = PairRows(source, target).word_cells()
    segment = target.segments.clamp(min=0)[:, :, None].expand_as(forward)
    count = int(segment.max()) + 1
    # Sort the cells of a row by sentence and, within it, by strength (at most 1); all others last. In double precision
    # the numbers of sentences leave room for strengths of any size.
    key = torch.where(words, (count - segment) * 2 + (forward * backward).double(), -1.0).flatten(1)
    order = key.sort(dim=1, descending=True, stable=True).indices  # (batch, cells)
    lengths = torch.stack([_words_per_sentence(side, count) for side in (target, source)])  # (2, batch, sentences)
    cells = lengths.prod(0)
    first = cells.cumsum(1) - cells  # where each sentence's cells begin in the order
    sorted_segment = segment.flatten(1).gather(1, order)
    rank = torch.arange(targets * sources, device=forward.device) - first.gather(1, sorted_segment.long())
    wanted = rank < lengths.amin(0).gather(1, sorted_segment.long())
    chosen = torch.zeros_like(wanted).scatter(1, order, wanted)
    return chosen.view(batch, targets, sources) & words


def _words_per_sentence(side: Rows, count: int) -> Tensor:
    """Count the words of each sentence of each row, without end-of-sentence. (batch, sentences)"""
    lengths = torch.zeros(len(side.ids), count, dtype=torch.long, device=side.ids.device)
    return lengths.scatter_add(1, side.segments.clamp(min=0).long(), is_word(side.ids).long())
