"""Attention optimisation: gradient descent on the attention logits of a sentence pair, everything else fixed.

The alignment layer predicts a word before it has seen it. But when a sentence pair is to be aligned, the words are
known: so search, from the layer's own logits, for those that predict them best. In two directions at once, one matrix
of logits serves both models, by its rows for one and by its columns for the other:

    A_L ← A_L − η·∂L/∂A_L,    L = L_F + L_B + λ·(L_C(A_F) + L_C(A_B))
    L_F = CE(p(y | softmax(A_L); M_F)),    L_B = CE(p(x | softmax(A_Lᵀ); M_B))
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from weft.config import OptimisationConfig
from weft.model.alignment_layers import AlignmentLayer
from weft.model.losses import contiguity_loss, linear_word_loss
from weft.model.rows import Rows, masked_softmax

_LEAST_ATTENTION = 1e-9  # whose logarithm is taken


class Predictor(NamedTuple):
    """Turns the attention of one direction into a loss."""

    layer: AlignmentLayer
    values: Tensor  # (batch, source, width)
    table: Tensor  # the translation model's embedding table, (vocabulary, width)
    target: Rows  # the words to predict
    source: Rows

    def word_loss(self, attention: Tensor) -> Tensor:
        """Return CE(p(y | A; M)), summed; ``attention`` is (batch, target, source) of this direction."""
        states = self.layer.predict(attention, self.values).to(self.values.dtype).flatten(0, 1)
        return linear_word_loss(states, self.table, self.target.ids.flatten(), smoothing=0.0).smoothed

    def loss(self, attention: Tensor, contiguity: float, kernel: int) -> Tensor:
        """Return CE(p(y | A; M)) + λ·L_C(A), summed."""
        loss = self.word_loss(attention)
        if contiguity:
            loss = loss + contiguity * contiguity_loss(attention, self.target, self.source, kernel)
        return loss


def initial_logits(
    forward: Tensor, backward: Tensor, cells: Tensor, start: Literal["logits", "log-probabilities"]
) -> Tensor:
    """(A_L)_init = ½·((A_L)_F + (A_L)_Bᵀ), or the same of the logarithms of both softmaxes. (batch, target, source)

    ``backward`` is (batch, source, target), as the backward layer gives it.
    """
    if start == "log-probabilities":
        forward = masked_softmax(forward, cells, 2).clamp(min=_LEAST_ATTENTION).log()
        backward = masked_softmax(backward, cells.mT, 2).clamp(min=_LEAST_ATTENTION).log()
    return (forward + backward.mT) / 2


def optimise_attention(
    logits: Tensor,
    cells: Tensor,
    forward: Predictor,
    backward: Predictor | None,
    config: OptimisationConfig,
    kernel: int = 2,
) -> Tensor:
    """Return logits (batch, target, source) after some steps of gradient descent.

    ``cells`` tells the cells of sentences; sentences do not influence each other.
    """
    for _ in range(config.steps):
        with torch.enable_grad():
            logits = logits.detach().requires_grad_()
            loss = forward.loss(masked_softmax(logits, cells, 2), config.contiguity, kernel)
            if backward is not None:
                loss = loss + backward.loss(masked_softmax(logits, cells, 1).mT, config.contiguity, kernel)
            (slope,) = torch.autograd.grad(loss, logits)
        logits = (logits - config.step_size * slope).detach()
    return logits
