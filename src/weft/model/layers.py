"""The parts of a Transformer, for rows that hold several sentences.

Shapes: batch (rows), query and key (positions in a row), width, heads, head (width per head). Layers normalise their
input and add their output to it ("pre-norm").
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.config import ModelConfig
from weft.model.row_attention import projections, row_attention, row_attention_fits
from weft.model.rows import Visible


def attend(first: Tensor, second: Tensor, visible: Visible) -> Tensor:
    """Return softmax(Q·Kᵀ/√d)·V for each head of what ``projections`` packs. (batch, query, heads, head)"""
    if row_attention_fits(first, second):
        return row_attention(first, second, visible.queries, visible.keys, visible.causal)
    return masked_attention(*projections(first, second), visible.mask())


def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the same with a mask that can be broadcast to (batch, heads, query, key); None: all is visible.

    All tensors are (batch, position, heads, head), and so is the result.
    """
    heads_first = (part.transpose(1, 2) for part in (query, key, value))
    return F.scaled_dot_product_attention(*heads_first, attn_mask=mask).transpose(1, 2)


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width, bias=False)  # query, key, value
        self.output = nn.Linear(width, width, bias=False)

    def queries_keys_values(self, states: Tensor) -> Tensor:
        """Project states (batch, position, width) to (batch, position, 3, heads, head)."""
        return self.project(states).unflatten(-1, (3, self.heads, -1))

    def forward(self, states: Tensor, visible: Visible) -> Tensor:
        packed = self.queries_keys_values(states)
        return self.output(attend(packed, packed, visible).flatten(2))


class CrossAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def queries(self, states: Tensor) -> Tensor:
        """Project states (batch, query, width) to (batch, query, 1, heads, head)."""
        return self.query(states).unflatten(-1, (1, self.heads, -1))

    def keys_values(self, memory: Tensor) -> Tensor:
        """Project memory (batch, key, width) to (batch, key, 2, heads, head)."""
        return self.key_value(memory).unflatten(-1, (2, self.heads, -1))

    def forward(self, states: Tensor, memory: Tensor, visible: Visible) -> Tensor:
        return self.output(attend(self.queries(states), self.keys_values(memory), visible).flatten(2))


class FeedForward(nn.Sequential):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))

    @property
    def linears(self) -> tuple[nn.Linear, nn.Linear]:
        return cast(nn.Linear, self[0]), cast(nn.Linear, self[2])


class EncoderLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(config.width)
        self.attention = SelfAttention(config.width, config.heads)
        self.norm_feed_forward = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config.width, config.feed_forward)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, visible: Visible) -> Tensor:
        states = states + self.dropout(self.attention(self.norm_attention(states), visible))
        return states + self.dropout(self.feed_forward(self.norm_feed_forward(states)))


class DecoderLayer(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(config.width)
        self.attention = SelfAttention(config.width, config.heads)
        self.norm_cross = nn.LayerNorm(config.width)
        self.cross = CrossAttention(config.width, config.heads)
        self.norm_feed_forward = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config.width, config.feed_forward)
        self.dropout = Dropout(config.dropout)

    def forward(self, states: Tensor, memory: Tensor, left: Visible, source: Visible) -> Tensor:
        """``left`` is what a target word sees of its own sentence, ``source`` what it sees of the other."""
        states = self._read_target(states, left)
        states = states + self.dropout(self.cross(self.norm_cross(states), memory, source))
        return states + self.dropout(self.feed_forward(self.norm_feed_forward(states)))

    def _read_target(self, states: Tensor, left: Visible) -> Tensor:
        return states + self.dropout(self.attention(self.norm_attention(states), left))

    def cross_logits(self, states: Tensor, memory: Tensor, left: Visible) -> Tensor:
        """Return how ``forward`` scores source words, in full precision. (batch, heads, target, source)"""
        query = self.cross.queries(self.norm_cross(self._read_target(states, left)))[:, :, 0].transpose(1, 2)
        key = self.cross.keys_values(memory)[:, :, 0].transpose(1, 2)
        return (query @ key.mT).float() * query.shape[-1] ** -0.5

    def step(self, states: Tensor, past: Tensor, memory: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Compute ``forward`` for one more word of each sentence, for inference. (batch, 1, width)

        ``past`` holds keys and values of the words before it (batch, words, 2, heads, head), ``memory`` those of the
        source, of which ``visible`` (batch, 1, 1, source) tells the real words. Also returns ``past``, with the new
        word.
        """
        packed = self.attention.queries_keys_values(self.norm_attention(states))
        past = torch.cat([past, packed[:, :, 1:]], dim=1)
        context = masked_attention(*projections(packed[:, :, :1], past), None)
        states = states + self.attention.output(context.flatten(2))
        query = self.cross.queries(self.norm_cross(states))
        context = masked_attention(*projections(query, memory), visible)
        states = states + self.cross.output(context.flatten(2))
        return states + self.feed_forward(self.norm_feed_forward(states)), past


class Embedding(nn.Module):
    """Scaled word embeddings plus positions, in the precision of the computation."""

    positions: Tensor

    def __init__(self, words: int | nn.Embedding, longest: int, config: ModelConfig) -> None:
        """``words``: their number, or the table of another model, which is projected to this width and not owned."""
        super().__init__()
        self._borrowed: list[nn.Embedding] = []  # a list, so that torch does not count what is in it as ours
        self.narrow: nn.Linear | None = None
        if isinstance(words, int):
            self.words = nn.Embedding(words, config.width)
        else:
            self._borrowed.append(words)
            if words.embedding_dim != config.width:
                self.narrow = nn.Linear(words.embedding_dim, config.width, bias=False)
        self.dropout = Dropout(config.dropout)
        self.register_buffer("positions", sinusoids(longest, config.width), persistent=False)

    @property
    def table(self) -> nn.Embedding:
        """The embeddings of all words."""
        return self._borrowed[0] if self._borrowed else self.words

    def lexicon(self, ids: Tensor) -> Tensor:
        """Return scaled embeddings without positions. (batch, length, width)"""
        words = self.table(ids) * self.table.embedding_dim**0.5
        return words if self.narrow is None else self.narrow(words)

    def forward(self, ids: Tensor, places: Tensor) -> Tensor:
        """Embed ids at their places, both (batch, length). (batch, length, width)"""
        embedded = self.lexicon(ids) + self.positions[places]
        if torch.is_autocast_enabled(ids.device.type):
            embedded = embedded.to(torch.get_autocast_dtype(ids.device.type))
        return self.dropout(embedded)


def sinusoid_rates(width: int) -> Tensor:
    """Return the rates of the waves of the positional encoding. (width / 2,)"""
    return torch.exp(-math.log(10_000) / (width // 2) * torch.arange(width // 2))


def sinusoids(length: int, width: int) -> Tensor:
    """Return the positional encoding of Vaswani et al. (2017), sines first, then cosines. (length, width)"""
    angles = torch.arange(length)[:, None] * sinusoid_rates(width)[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


# Dropout: whether an element is dropped depends on the key of the update, the layer, the row of the batch and the place
# in it, and on nothing else. So there is no generator whose state would have to be saved, a resumed run drops the same
# elements, and so do two processes that share a batch. It is also cheaper on a GPU: a short integer hash that is
# computed again in the backward pass instead of a mask that is stored.


_LOWERED = 1e4  # logits of dropped cells: far more than logits differ


class Dropout(nn.Module):
    """Dropout of (batch, length, width) tensors."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability
        self.key = torch.zeros((), dtype=torch.int32)  # of the update and the layer
        self.first_row = torch.zeros((), dtype=torch.int32)  # where this process's rows begin in the batch

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return states
        return torch.where(self.kept(states), states * (1 / (1 - self.probability)), 0)

    def kept(self, states: Tensor) -> Tensor:
        """Return True for elements that stay. (batch, length, width)"""
        rows, length, width = states.shape
        row = torch.arange(rows, device=states.device, dtype=torch.int32) + self.first_row
        place = torch.arange(length * width, device=states.device, dtype=torch.int32)
        number = row[:, None] * (length * width) + place  # wraps around, which is fine for a hash
        keep = uniform(number + uniform(self.key)) >= round(self.probability * 2**32) - 2**31
        return keep.view(rows, length, width)


class LogitDropout(Dropout):
    """Dropout of attention cells: their logits become so low that any other cell is preferred.

    They do not become -inf, so that a word all of whose cells are dropped still has a distribution.
    """

    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return states
        return torch.where(self.kept(states), states, states - _LOWERED)


class DropoutKeys:
    """The keys of all dropout layers of a module, in one tensor on its device."""

    def __init__(self, module: nn.Module, seed: int, first_row: int, device: torch.device) -> None:
        layers = [layer for layer in module.modules() if isinstance(layer, Dropout)]
        self._seed = seed
        self._keys = torch.zeros(len(layers), dtype=torch.int32, device=device)
        start = torch.tensor(first_row, dtype=torch.int32, device=device)
        for layer, key in zip(layers, self._keys, strict=True):
            layer.key, layer.first_row = key, start  # tensors, not numbers: compiled layers take them as input

    def set(self, update: int) -> None:
        """Set the keys for an update."""
        drawn = np.random.default_rng([self._seed, update]).integers(-(2**31), 2**31, len(self._keys), np.int32)
        self._keys.copy_(torch.from_numpy(drawn), non_blocking=True)


def uniform(number: Tensor) -> Tensor:
    """Hash 32-bit integers to uniformly distributed ones (Wellons' "lowbias32")."""
    number = (number ^ ((number >> 16) & 0xFFFF)) * 0x7FEB352D
    number = (number ^ ((number >> 15) & 0x1FFFF)) * (0x846CA68B - 2**32)
    return number ^ ((number >> 16) & 0xFFFF)
