"""Two encoders and one score matrix: the small model that learns what the whole system knows.

One encoder reads the source sentence, the other the target sentence; neither sees the other side. The score of two
pieces is the dot product of their states, and a softmax of the same matrix over either side gives both directions:

    S = T·Sᵀ/√d,    A_F = softmax_source(S),    A_B = softmax_target(S)

No decoder, no word prediction, one pass: it is what is left of the system once somebody else has found the links.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from weft.config import EncoderConfig, ModelConfig
from weft.model.alignment_layers import attention_logits
from weft.model.layers import Embedding, EncoderLayer
from weft.model.rows import Attention, PairRows, Rows, Visible, half_precision, masked_softmax
from weft.model.translation import LONGEST_SENTENCE, TranslationModel


def model_config(shape: EncoderConfig, dropout: float) -> ModelConfig:
    """The translation model whose encoder has this shape."""
    return ModelConfig(shape.width, shape.feed_forward, shape.heads, shape.layers, 1, dropout)


class SideEncoder(nn.Module):
    """The first layers of a translation model's encoder, for one side of the corpus."""

    def __init__(self, config: ModelConfig, words: int, layers: int) -> None:
        super().__init__()
        self.embedding = Embedding(words, LONGEST_SENTENCE, config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm_words = nn.LayerNorm(config.width)
        self.norm_states = nn.LayerNorm(config.width)
        self.project = nn.Linear(config.width, config.width, bias=False)

    @property
    def encoder_layers(self) -> list[EncoderLayer]:
        return cast("list[EncoderLayer]", list(self.layers))

    def start_from(self, model: TranslationModel) -> None:
        """Take over embeddings and the first layers of a model that reads this side."""
        self.embedding.load_state_dict(model.embedding.state_dict())
        for own, other in zip(self.layers, model.encoder, strict=False):  # the first of the model's
            own.load_state_dict(other.state_dict())

    def forward(self, rows: Rows) -> Tensor:
        """States to compare with those of the other side. (batch, length, width)"""
        states = self.embedding(rows.ids, rows.places)
        visible = Visible(rows.segments, rows.segments, causal=False)
        for layer in self.layers:
            states = layer(states, visible)
        words = self.embedding.lexicon(rows.ids)
        return self.project(self.norm_words(words) + self.norm_states(states))


class Scorer(nn.Module):
    """Both sides. Beside it there may be a smaller one, ``fast``, which reads the same embeddings."""

    def __init__(self, config: ModelConfig, words: int, layers: int) -> None:
        super().__init__()
        self.source = SideEncoder(config, words, layers)
        self.target = SideEncoder(config, words, layers)
        self.fast: Scorer | None = None

    def add_fast(self, shape: EncoderConfig, dropout: float) -> Scorer:
        """A fast scorer that knows nothing yet but the words."""
        self.fast = Scorer(model_config(shape, dropout), 1, shape.layers)
        for own, other in ((self.fast.source, self.source), (self.fast.target, self.target)):
            own.embedding.borrow(other.embedding.words)
        return self.fast

    def forward(self, pair: PairRows) -> Tensor:
        """S, unmasked. (batch, target, source)"""
        return attention_logits(self.target(pair.target), self.source(pair.source))

    @torch.no_grad()
    def attention(self, pair: PairRows) -> Attention:
        """Both directions' attention."""
        cells = pair.cells()
        with half_precision(pair.source.ids.device):
            scores = self(pair)
        return Attention(masked_softmax(scores, cells, 2), masked_softmax(scores, cells, 1))
