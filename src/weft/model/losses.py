"""Losses, as small functions named after what they measure."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.model.row_attention import HAS_TRITON
from weft.model.rows import Rows, is_word
from weft.text.subwords import END, PAD

GPU_CHUNK = 8192  # tokens: few and large matrix products
CPU_CHUNK = 128  # tokens: logits that stay in the cache
_LEAST_MASS = 1e-6  # of attention, whose logarithm is taken


class WordLoss(NamedTuple):
    """Sums over the real tokens of a batch."""

    smoothed: Tensor  # cross entropy with smoothed labels: what training minimises
    plain: Tensor  # −log p(y): what is comparable between settings


def word_loss_reference(states: Tensor, table: Tensor, labels: Tensor, smoothing: float) -> WordLoss:
    """Compute the cross entropy of predicting ``labels`` (tokens,) from ``states`` (tokens, width), written plainly.

        loss = −Σ_t Σ_v q_t(v)·log softmax(table·state_t)_v,   q_t(v) = (1 − ε)·[v = y_t] + ε/|V|

    ``linear_word_loss`` computes the same without holding all logits; tests compare the two.
    """
    logits = (states @ table.T).float()
    plain = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum")
    smoothed = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    return WordLoss(smoothed, plain)


def linear_word_loss(states: Tensor, table: Tensor, labels: Tensor, smoothing: float, chunk: int = 0) -> WordLoss:
    """Compute ``word_loss_reference`` with the logits of only ``chunk`` tokens in memory at a time (0: choose).

    The gradient is known as soon as the logits are, so both are computed together in the forward pass and nothing of
    size tokens × vocabulary outlives its chunk.
    """
    limit = chunk or (GPU_CHUNK if states.is_cuda else CPU_CHUNK)
    chunks = -(-len(states) // limit)
    smoothed, plain = _LinearWordLoss.apply(states, table, labels, smoothing, -(-len(states) // chunks))
    return WordLoss(smoothed, plain)


class _LinearWordLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states: Tensor, table: Tensor, labels: Tensor, smoothing: float, chunk: int):
        weights = table.to(states.dtype)
        losses = torch.zeros(2, device=states.device)
        states_gradient = torch.empty_like(states)
        table_gradient = torch.zeros_like(table) if ctx.needs_input_grad[1] else torch.empty(0, device=table.device)
        with torch.autocast(states.device.type, enabled=False):
            for piece, piece_labels, piece_gradient in zip(
                states.split(chunk), labels.split(chunk), states_gradient.split(chunk), strict=True
            ):
                piece_losses, slope = loss_and_slope(piece @ weights.T, piece_labels, smoothing)
                losses += piece_losses
                torch.mm(slope, weights, out=piece_gradient)
                if ctx.needs_input_grad[1]:
                    table_gradient += slope.T @ piece
        ctx.save_for_backward(states_gradient, table_gradient)
        return losses[0], losses[1]

    @staticmethod
    def backward(ctx, gradient: Tensor, _: Tensor):  # pyrefly: ignore[bad-override]
        states_gradient, table_gradient = ctx.saved_tensors
        table_slope = table_gradient * gradient if ctx.needs_input_grad[1] else None
        return states_gradient * gradient.to(states_gradient.dtype), table_slope, None, None, None


def loss_and_slope(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return both sums of ``WordLoss`` for logits (tokens, vocabulary), and ∂smoothed/∂logits in place or precision.

    ∂loss_t/∂logit_v = softmax_v − q_t(v), and 0 where the label is padding.
    """
    if logits.is_cuda and HAS_TRITON:
        from weft.model.kernels import word_loss_and_slope

        return word_loss_and_slope(logits, labels, PAD, smoothing)
    precise = logits.float()
    size = logits.shape[1]
    label = labels[:, None].long()
    real = label != PAD
    normaliser = precise.logsumexp(1, keepdim=True)
    plain = normaliser - precise.gather(1, label)
    uniform = normaliser - precise.mean(1, keepdim=True)
    smoothed = (1 - smoothing) * plain + smoothing * uniform
    hit = torch.arange(size, device=logits.device) == label
    slope = (precise - normaliser).exp() - torch.where(hit, 1 - smoothing + smoothing / size, smoothing / size)
    sums = torch.cat([(smoothed * real).sum(0), (plain * real).sum(0)])
    return sums, (slope * real).to(logits.dtype)


def contiguity_loss(attention: Tensor, target: Rows, source: Rows, kernel: int = 2) -> Tensor:
    """Measure how far attention is from clusters of neighbouring links, summed over target words (the paper's L_C).

        Ā = conv(A, K),   K of kernel × kernel elements 1/kernel        L_C = −Σ_t log max_s Ā_{s,t}

    Zero outside the sentence; end-of-sentence is masked on both sides. ``attention`` is (batch, target, source); with
    rows of several sentences, no window reaches from one into the next.
    """
    target_words, source_words = is_word(target.ids), is_word(source.ids)
    mass = attention * (target_words[:, :, None] & source_words[:, None, :])
    mass = _window_sums(mass, target.segments, dim=1, size=kernel)
    mass = _window_sums(mass, source.segments, dim=2, size=kernel) / kernel
    # A window that begins in another sentence holds nothing of this one; the words of a row see only their own cells.
    own = (target.segments[:, :, None] == source.segments[:, None, :]) & source_words[:, None, :]
    best = torch.where(own, mass, 0).amax(2)
    return -(best.clamp(min=_LEAST_MASS).log() * target_words).sum()


def _window_sums(mass: Tensor, segments: Tensor, dim: int, size: int) -> Tensor:
    """Sum over windows of ``size`` along a dimension, within segments; an even window reaches one further ahead."""
    length = mass.shape[dim]
    total = torch.zeros_like(mass)
    for shift in range(-((size - 1) // 2), size // 2 + 1):
        if abs(shift) >= length:
            continue
        here = slice(max(0, -shift), length - max(0, shift))
        there = slice(max(0, shift), length - max(0, -shift))
        inside = segments[:, here] == segments[:, there]  # (batch, overlap)
        if dim == 1:
            total[:, here] += mass[:, there] * inside[:, :, None]
        else:
            total[:, :, here] += mass[:, :, there] * inside[:, None, :]
    return total


def agreement_loss(forward: Tensor, backward: Tensor, target: Rows, source: Rows) -> Tensor:
    """Return −log of the mass that both directions put on the same cells, summed over the words of both sides.

        −Σ_t log Σ_s A_F(t,s)·A_B(t,s) − Σ_s log Σ_t A_F(t,s)·A_B(t,s)

    Both are (batch, target, source): ``forward`` sums to one over source words, ``backward`` over target words.
    """
    target_words, source_words = is_word(target.ids), is_word(source.ids)
    both = forward * backward * (target_words[:, :, None] & source_words[:, None, :])
    by_target, by_source = (both.sum(dim).clamp(min=_LEAST_MASS).log() for dim in (2, 1))
    return -(by_target * target_words).sum() - (by_source * source_words).sum()


def guided_loss(logits: Tensor, cells: Tensor, links: Tensor, target: Rows, source: Rows) -> Tensor:
    """Compute the cross entropy of attention with given links, summed over target words (the paper's L_a).

        L_a = −Σ_t Σ_s G(t,s)·log A(t,s)

    G shares a word's mass between its ``links`` (batch, target, source), true where there is one. A word without links
    belongs to the end-of-sentence symbol of its source sentence.
    """
    target_words = is_word(target.ids)
    ends = cells & (source.ids == END)[:, None, :]
    wanted = torch.where(links.any(2, keepdim=True), links, ends).float()
    wanted = wanted / wanted.sum(2, keepdim=True).clamp(min=1)
    log_attention = torch.where(cells, logits, -torch.inf).log_softmax(2)
    return -(torch.where(wanted > 0, wanted * log_attention, 0).sum(2) * target_words).sum()
