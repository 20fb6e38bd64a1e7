"""Layers on top of a frozen translation model whose attention is an alignment.

The attention of a translation model has many layers and heads, none of which has to look at the word it predicts. The
alignment layer (Zenkel et al., 2019) has one head, and the context vector that this head picks from the source is all
that the layer has to predict the target word with: it must look at the word's translation.

The guided layer is an alignment layer that knows the whole target sentence and predicts nothing: it is trained to
reproduce given links.

Attention matrices are (batch, target, source) here, in packed rows: cells between words of different sentences are
masked. The end-of-sentence symbol of the source is a key like any other; it is where words without a translation look.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from weft.config import AlignmentConfig, GuidedConfig
from weft.model.layers import Dropout, FeedForward, LogitDropout, SelfAttention, sinusoids
from weft.model.rows import Rows, Visible
from weft.model.translation import LONGEST_SENTENCE, TranslationModel

_POSITIONS = 2.0  # scale of sinusoids, so that they are not lost beside normalised states, whose entries are about 1


class Features(NamedTuple):
    """The states and embeddings of a batch that the layers read."""

    words: Tensor  # (batch, source, width): embeddings of the source words
    encoded: Tensor  # (batch, source, width): states of the encoder
    decoded: Tensor  # (batch, target, width): states of the decoder, each about to predict its word
    own: Tensor  # (batch, target, width): embeddings of the target words themselves
    read: Tensor | None = None  # (batch, target, width): states of the other direction's encoder, which reads them


@torch.no_grad()
def frozen_features(
    model: TranslationModel, source: Rows, target: Rows, encoded: Tensor, read: Tensor | None = None
) -> Features:
    """Run the decoder of a translation model, which must be in inference mode and is not changed.

    ``encoded`` are the states of its encoder, ``read`` those of the other direction's.
    """
    scale = model.config.width**0.5
    return Features(
        words=(model.embedding.words(source.ids) * scale).to(encoded.dtype),
        encoded=encoded,
        decoded=model.decode(target, encoded, source),
        own=(model.embedding.words(target.ids) * scale).to(encoded.dtype),
        read=read,
    )


class _Memory(nn.Module):
    """The keys of attention: word embeddings plus encoder states, so that lexicon and context are both there.

    Each of the two has its own layer norm. Embeddings and states differ in size, and without that one drowns the other.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm_words = nn.LayerNorm(width)
        self.norm_encoded = nn.LayerNorm(width)

    def forward(self, features: Features) -> Tensor:
        return self.norm_words(features.words) + self.norm_encoded(features.encoded)


class AlignmentLayer(nn.Module):
    """A_L = Q·Kᵀ/√d, A = softmax(A_L), c = A·V, and p(y_t | c_t): equations of the paper's "Background"."""

    def __init__(self, width: int, config: AlignmentConfig) -> None:
        super().__init__()
        self.memory = _Memory(width)
        self.norm_query = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width, config.hidden)
        self.norm_prediction = nn.LayerNorm(width)
        self.dropout = Dropout(config.dropout)
        self.logit_dropout = LogitDropout(config.logit_dropout)

    def logits_and_values(self, features: Features) -> tuple[Tensor, Tensor]:
        """Return A_L, unmasked (batch, target, source), and V (batch, source, width)."""
        memory = self.memory(features)
        logits = attention_logits(self.query(self.norm_query(features.decoded)), self.key(memory))
        return self.logit_dropout(logits), self.value(memory)

    def predict(self, attention: Tensor, values: Tensor) -> Tensor:
        """Return states from which the frozen embedding table predicts the target words. (batch, target, width)"""
        context = self.dropout(self.output(attention.to(values.dtype) @ values))
        return self.norm_prediction(context + self.feed_forward(self.norm_feed_forward(context)))


class GuidedLayer(nn.Module):
    """Attention logits from the whole target sentence: unmasked self-attention over decoder states, then one head.

    The decoder state of a word does not know the word itself yet. In the paper it reaches the query only through
    self-attention, from the next state, which is easier to find with ``positions``; with ``own_word`` its
    embedding is added to the query, with ``whole_target`` the state that the other direction's encoder has for it.
    """

    positions: Tensor | None

    def __init__(self, width: int, config: GuidedConfig) -> None:
        super().__init__()
        self.memory = _Memory(width)
        self.norm_own = nn.LayerNorm(width) if config.own_word else None
        self.norm_read = nn.LayerNorm(width) if config.whole_target else None
        self.norm_attention = nn.LayerNorm(width)
        positions = _POSITIONS * sinusoids(LONGEST_SENTENCE, width) if config.positions else None
        self.register_buffer("positions", positions, persistent=False)
        self.attention = SelfAttention(width, config.heads)
        self.norm_query = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.dropout = Dropout(config.dropout)

    def start_from(self, layer: AlignmentLayer) -> None:
        """Take over the weights of a trained alignment layer; only self-attention starts from nothing."""
        for name in ("memory", "norm_query", "query", "key"):
            getattr(self, name).load_state_dict(getattr(layer, name).state_dict())

    def forward(self, features: Features, target: Rows) -> Tensor:
        """Return A_L, unmasked. (batch, target, source)"""
        states = features.decoded
        if self.norm_own is not None:
            states = states + self.norm_own(features.own)
        if self.norm_read is not None:
            assert features.read is not None
            states = states + self.norm_read(features.read)
        whole_sentence = Visible(target.segments, target.segments, causal=False)
        looking = self.norm_attention(states)
        if self.positions is not None:
            looking = looking + self.positions[target.places]
        states = states + self.dropout(self.attention(looking, whole_sentence))
        return attention_logits(self.query(self.norm_query(states)), self.key(self.memory(features)))


def attention_logits(query: Tensor, key: Tensor) -> Tensor:
    """Return Q·Kᵀ/√d in full precision. (batch, target, source)"""
    return (query @ key.mT).float() * query.shape[-1] ** -0.5
