"""The translation model of the paper: a small Transformer whose three embedding tables are one.

Everything works on rows of ids as ``weft.text.batches`` packs them. A batch of single sentences is the same thing with
one sentence in each row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.config import ModelConfig
from weft.model.dropout import Dropout
from weft.model.layers import DecoderLayer, EncoderLayer, Visible, positions, segments, sinusoids
from weft.text.subwords import END

LONGEST_SENTENCE = 1024  # pieces


def decoder_input(labels: Tensor) -> Tensor:
    """What the decoder reads when it has to predict ``labels``: everything one place to the right. (batch, length)

    Each sentence ends with END, so the first word of the next one is predicted from END, as is the first of a row.
    """
    first = torch.full_like(labels[:, :1], END)
    return torch.cat([first, labels[:, :-1]], dim=1)


class TranslationModel(nn.Module):
    """Encoder, decoder and one embedding table for source words, target words and predictions."""

    positions: Tensor

    def __init__(self, config: ModelConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(-(-vocabulary // 64) * 64, config.width)  # tensor cores want multiples of 64
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.LayerNorm(config.width)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.register_buffer("positions", sinusoids(LONGEST_SENTENCE, config.width), persistent=False)
        self.initialise()

    def initialise(self) -> None:
        """Xavier for matrices, zero for biases, variance 1/width for embeddings."""
        for name, parameter in self.named_parameters():
            if parameter is self.embedding.weight:
                nn.init.normal_(parameter, std=self.config.width**-0.5)
            elif parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    @property
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def embed(self, ids: Tensor, places: Tensor) -> Tensor:
        """Scaled word embedding plus position, in the precision of the computation. (batch, length, width)"""
        embedded = self.embedding(ids) * self.config.width**0.5 + self.positions[places]
        if torch.is_autocast_enabled(ids.device.type):
            embedded = embedded.to(torch.get_autocast_dtype(ids.device.type))
        return self.dropout(embedded)

    def encode(self, source: Tensor) -> Tensor:
        """Source rows (batch, source) to encoder states (batch, source, width)."""
        segment = segments(source)
        visible = Visible(segment, segment, causal=False)
        states = self.embed(source, positions(source))
        for layer in self.encoder:
            states = layer(states, visible)
        return self.encoder_norm(states)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Decoder states from which each token of ``target`` is predicted. (batch, target, width)

        ``target`` holds the words to predict; a state sees only those before its own.
        """
        segment = segments(target)
        left = Visible(segment, segment, causal=True)
        across = Visible(segment, segments(source), causal=False)
        states = self.embed(decoder_input(target), positions(target))
        for layer in self.decoder:
            states = layer(states, memory, left, across)
        return self.decoder_norm(states)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """States that predict ``target`` (batch, target) given ``source`` (batch, source). (batch, target, width)"""
        return self.decode(target, self.encode(source), source)

    def logits(self, states: Tensor) -> Tensor:
        """Scores of all words of the vocabulary. (…, vocabulary)"""
        return states @ self.embedding.weight[: self.vocabulary].to(states.dtype).T
