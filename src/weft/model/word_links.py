"""Links between words from the attention between their pieces, computed where torch computes.

The rules are those of ``align.attention_to_links``, which says what they mean. Here they work on all pairs of a request
together, so that a GPU gets few and large pieces of work.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.align.attention_to_links import BESIDE, SURE
from weft.align.batched_aligner import PackedLinks, PackedPairs
from weft.model.rows import Attend, Milestone, PairRows
from weft.model.sentence_rows import SentenceRows, sentence_rows


@torch.no_grad()
def packed_links(
    attend: Attend, pairs: PackedPairs, device: torch.device, threshold: float, matrices: bool
) -> PackedLinks:
    """Return the links of pairs by the merge ``mean``, and the probabilities of all words if ``matrices``."""
    probabilities, scores = [], []
    for source, target in sentence_rows(pairs, device):
        forward, backward = (one.float() for one in attend(PairRows(source.rows, target.rows)))
        probabilities.append(word_probability(forward, backward, source, target))
        scores.append(pair_scores(forward + backward, source, target))
    Milestone(device).wait()  # for most of the work; what follows is short, and waits often
    links = linked_words(probabilities, threshold)
    counts, sources, targets, strengths, all_scores = (one.cpu().numpy() for one in (*links, torch.cat(scores)))
    wanted = [one.cpu().numpy() for one in probabilities] if matrices else []
    return PackedLinks(counts, sources, targets, strengths, all_scores, wanted)


def word_probability(forward: Tensor, backward: Tensor, source: SentenceRows, target: SentenceRows) -> Tensor:
    """Return the probability of each link. (batch, target words, source words)

    p(s, t) = ½ · max over j in t of Σ over i in s of forward(j, i)
            + ½ · max over i in s of Σ over j in t of backward(j, i)
    """
    of_targets = target.greatest(source.summed(forward.mT).mT)
    of_sources = source.greatest(target.summed(backward).mT).mT
    return ((of_targets + of_sources) / 2).clamp(max=1)


def pair_scores(strength: Tensor, source: SentenceRows, target: SentenceRows) -> Tensor:
    """Return how well the sentences of each pair fit: the strongest cell of each piece, mean over both sides.

    ``strength`` (batch, target, source) is the sum of both directions' attention.
    """
    strength = torch.where(target.is_piece[:, :, None] & source.is_piece[:, None], strength, 0)
    best = (strength.amax(1).sum(1) + strength.amax(2).sum(1)) / 2
    return best / (source.is_piece.sum(1) + target.is_piece.sum(1)).clamp(min=1)


def linked_words(probabilities: list[Tensor], threshold: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return which words are linked, given the probabilities of batches, each (batch, target words, source words).

    Returns how many links each pair has and, for each link, in the order of pairs, source and target words: the source
    word, the target word, and the probability.
    """
    # All matrices in one array, source words first, each with a border, so that every cell has neighbours.
    bordered = [F.pad(one.mT, (1, 1, 1, 1)) for one in probabilities]
    values = torch.cat([one.flatten() for one in bordered])
    place = ((values >= BESIDE * threshold) & (values > 0)).nonzero()[:, 0]  # few cells compete, so they are listed
    strength = values[place]
    shapes = torch.tensor([one.shape for one in bordered], device=values.device)  # pairs, source + 2, target + 2
    ends = shapes.prod(1).cumsum(0)
    batch = torch.searchsorted(ends, place, right=True)
    _, height, width = shapes[batch].unbind(1)
    inside = place - (ends - shapes.prod(1))[batch]
    pair = inside // (height * width) + (shapes[:, 0].cumsum(0) - shapes[:, 0])[batch]
    source, target = inside % (height * width) // width, inside % width  # counted from one
    pairs, tallest, widest = sum(map(len, bordered)), *(max(one.shape[side] for one in bordered) for side in (1, 2))
    words = [(pair * tallest + source, pairs * tallest), (pair * widest + target, pairs * widest)]
    linked = _compete(strength, place, width, len(values), words, threshold)
    (chosen,) = linked.nonzero(as_tuple=True)
    counts = torch.zeros(pairs, dtype=torch.int, device=values.device)
    counts.scatter_add_(0, pair[chosen], torch.ones_like(chosen, dtype=torch.int))
    return counts, source[chosen].int() - 1, target[chosen].int() - 1, strength[chosen]


def _compete(
    strength: Tensor, place: Tensor, width: Tensor, size: int, words: list[tuple[Tensor, int]], threshold: float
) -> Tensor:
    """Return which of the listed cells become links.

    Each is at a ``place`` of a flat array of ``size``, ``width`` places from the next row of its matrix. ``words`` are
    the source and the target word of each cell, in numbers that are less than the one given.
    """
    one = torch.ones_like(width)
    steps = [one, -one, width, -width, width + one, width - one, one - width, -width - one]
    around = place[:, None] + torch.stack(steps, 1)  # (cells, 8): in the same row or column, then diagonally
    is_high = strength >= threshold
    linked = is_high & (strength >= SURE)
    is_link = torch.zeros(size, dtype=torch.bool, device=place.device)
    while True:
        is_link[place] = linked
        near = is_link[around]
        touches = near[:, :4].any(1) | (is_high & near.any(1))
        of_source, of_target = (_any_of(linked, *numbers) for numbers in words)
        is_open = (is_high & ~(of_target | of_source)) | (touches & (of_target != of_source))
        left = torch.where(is_open, strength, 0)
        is_best = [left == _greatest_of(left, *numbers) for numbers in words]
        chosen = is_open & is_best[0] & is_best[1]
        if not chosen.any():
            return linked
        linked = linked | chosen


def _any_of(mask: Tensor, words: Tensor, count: int) -> Tensor:
    """Return for each cell whether the mask has a cell of the same word."""
    found = torch.zeros(count + 1, dtype=torch.bool, device=mask.device)
    found[torch.where(mask, words, count)] = True
    return found[words]


def _greatest_of(values: Tensor, words: Tensor, count: int) -> Tensor:
    """Return for each cell the greatest value of the same word; no value is negative."""
    return values.new_zeros(count).scatter_reduce_(0, words, values, "amax")[words]
