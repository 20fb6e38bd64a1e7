"""The translation model of the paper: a small Transformer whose three embedding tables are one.

Everything works on rows of ids as ``corpus.packing`` packs them. A batch of single sentences is the same thing with
one sentence in each row.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from weft.config import MOST_PIECES, ModelConfig
from weft.model.layers import DecoderLayer, Embedding, EncoderLayer
from weft.model.rows import Rows, Visible
from weft.text.subwords import END

LONGEST_SENTENCE = MOST_PIECES + 1  # with end-of-sentence


def decoder_input(labels: Tensor) -> Tensor:
    """Return what the decoder reads to predict ``labels``: everything one place to the right. (batch, length)

    Each sentence ends with END, so the first word of the next one is predicted from END, as is the first of a row.
    """
    first = torch.full_like(labels[:, :1], END)
    return torch.cat([first, labels[:, :-1]], dim=1)


class TranslationModel(nn.Module):
    """Encoder, decoder and one embedding table for source words, target words and predictions."""

    def __init__(self, config: ModelConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        table = -(-vocabulary // 64) * 64  # tensor cores want multiples of 64
        self.embedding = Embedding(table, LONGEST_SENTENCE, config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(config.width)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(config.width)
        self.initialise()

    def initialise(self) -> None:
        """Draw new weights: Xavier for matrices, zero for biases, variance 1/width for embeddings."""
        for name, parameter in self.named_parameters():
            if parameter is self.table:
                nn.init.normal_(parameter, std=self.config.width**-0.5)
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    @property
    def table(self) -> Tensor:
        """The embeddings of all words, which are the output layer as well. (vocabulary and a few rows, width)"""
        return self.embedding.words.weight

    @property
    def decoder_layers(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.decoder))

    @property
    def parts(self) -> list[nn.Module]:
        """What is compiled, each on its own: equal layers share one compilation, which takes seconds."""
        return [self.embedding, *self.encoder, self.encoder_norm, *self.decoder, self.decoder_norm]

    def encode(self, source: Rows) -> Tensor:
        """Return encoder states. (batch, source, width)"""
        visible = Visible(source.segments, source.segments, causal=False)
        states = self.embedding(source.ids, source.places)
        for layer in self.encoder:
            states = layer(states, visible)
        return self.encoder_norm(states)

    def decode(self, target: Rows, memory: Tensor, source: Rows) -> Tensor:
        """Return decoder states from which each token of ``target`` is predicted. (batch, target, width)

        ``target`` holds the words to predict; a state sees only those before its own.
        """
        left = Visible(target.segments, target.segments, causal=True)
        across = Visible(target.segments, source.segments, causal=False)
        states = self.embedding(decoder_input(target.ids), target.places)
        for layer in self.decoder:
            states = layer(states, memory, left, across)
        return self.decoder_norm(states)

    def cross_logits(self, target: Rows, memory: Tensor, source: Rows, layer: int) -> Tensor:
        """Return the attention logits of one decoder layer, unmasked. (batch, heads, target, source)"""
        left = Visible(target.segments, target.segments, causal=True)
        across = Visible(target.segments, source.segments, causal=False)
        states = self.embedding(decoder_input(target.ids), target.places)
        for before in self.decoder_layers[:layer]:
            states = before(states, memory, left, across)
        return self.decoder_layers[layer].cross_logits(states, memory, left)

    def forward(self, source: Rows, target: Rows) -> Tensor:
        """Return states that predict ``target`` given ``source``. (batch, target, width)"""
        return self.decode(target, self.encode(source), source)

    def logits(self, states: Tensor) -> Tensor:
        """Return the scores of all words of the vocabulary. (…, vocabulary)"""
        return states @ self.table[: self.vocabulary].to(states.dtype).T
