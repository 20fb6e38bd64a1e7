"""Losses, as small functions named after what they measure."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._triton import has_triton_package

from weft.text.subwords import PAD

GPU_CHUNK = 8192  # tokens: few and large matrix products
CPU_CHUNK = 128  # tokens: logits that stay in the cache


class WordLoss(NamedTuple):
    """Sums over the real tokens of a batch."""

    smoothed: Tensor  # cross entropy with smoothed labels: what training minimises
    plain: Tensor  # −log p(y): what is comparable between settings


def word_loss_reference(states: Tensor, table: Tensor, labels: Tensor, smoothing: float) -> WordLoss:
    """Cross entropy of predicting ``labels`` (tokens,) from ``states`` (tokens, width), written plainly.

        loss = −Σ_t Σ_v q_t(v)·log softmax(table·state_t)_v,   q_t(v) = (1 − ε)·[v = y_t] + ε/|V|

    ``linear_word_loss`` computes the same without holding all logits; tests compare the two.
    """
    logits = (states @ table.T).float()
    plain = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum")
    smoothed = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    return WordLoss(smoothed, plain)


def linear_word_loss(states: Tensor, table: Tensor, labels: Tensor, smoothing: float, chunk: int = 0) -> WordLoss:
    """The same as ``word_loss_reference`` with the logits of only ``chunk`` tokens in memory at a time (0: choose).

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
        table_gradient = torch.zeros_like(table)
        with torch.autocast(states.device.type, enabled=False):
            for piece, piece_labels, piece_gradient in zip(
                states.split(chunk), labels.split(chunk), states_gradient.split(chunk), strict=True
            ):
                piece_losses, slope = loss_and_slope(piece @ weights.T, piece_labels, smoothing)
                losses += piece_losses
                torch.mm(slope, weights, out=piece_gradient)
                table_gradient += slope.T @ piece
        ctx.save_for_backward(states_gradient, table_gradient)
        return losses[0], losses[1]

    @staticmethod
    def backward(ctx, gradient: Tensor, _: Tensor):  # pyrefly: ignore[bad-override]
        states_gradient, table_gradient = ctx.saved_tensors
        return states_gradient * gradient.to(states_gradient.dtype), table_gradient * gradient, None, None, None


def loss_and_slope(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Both sums of ``WordLoss`` for logits (tokens, vocabulary), and ∂smoothed/∂logits in their place or precision.

    ∂loss_t/∂logit_v = softmax_v − q_t(v), and 0 where the label is padding.
    """
    if logits.is_cuda and has_triton_package():
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
