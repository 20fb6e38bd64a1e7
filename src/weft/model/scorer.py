"""Two encoders and one score matrix: the small model that learns what the whole system knows.

One encoder reads the source sentence, the other the target sentence; neither sees the other side. A shared encoder
reads both, each alone. The score of two pieces is the dot product of their states, and a softmax of the same matrix
over either side gives both directions:

    S = T·Sᵀ/√d,    A_F = softmax_source(S),    A_B = softmax_target(S)

There is no decoder and no word prediction. A model folder of a small aligner (``align.model_folder``) holds a scorer as
eight-bit arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from weft.align.model_folder import AlignerFolder
from weft.config import EncoderConfig, ModelConfig
from weft.model.alignment_layers import attention_logits
from weft.model.layers import Embedding, EncoderLayer, sinusoid_rates
from weft.model.rows import Attention, PairRows, Rows, Visible, half_precision, masked_softmax
from weft.model.translation import LONGEST_SENTENCE, TranslationModel


class SideEncoder(nn.Module):
    """The first layers of a translation model's encoder, for one side of the corpus or for both."""

    def __init__(self, shape: EncoderConfig, words: int | nn.Embedding, dropout: float) -> None:
        super().__init__()
        self.shape = shape
        config = ModelConfig(shape.width, shape.feed_forward, shape.heads, 1, 1, dropout)
        self.embedding = Embedding(words, LONGEST_SENTENCE, config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(shape.layers))
        self.norm_words = nn.LayerNorm(shape.width)
        self.norm_states = nn.LayerNorm(shape.width)
        self.project = nn.Linear(shape.width, shape.width, bias=False)

    @torch.no_grad()
    def start_from(self, model: TranslationModel) -> None:
        """Take over embeddings and the first layers of a model that reads this side.

        Of a model of another shape only the embeddings, reduced to their principal components if it is wider.
        """
        own = self.embedding.table.weight
        if own.shape == model.table.shape:
            own.copy_(model.table)
        else:
            own.copy_(_reduced(model.table.float(), own.shape[1]))
        if self.shape.width == model.config.width and self.shape.feed_forward == model.config.feed_forward:
            for layer, other in zip(self.layers, model.encoder, strict=False):  # the first of the model's
                layer.load_state_dict(other.state_dict())

    def forward(self, rows: Rows) -> Tensor:
        """Compute states to compare with those of the other side. (batch, length, width)"""
        states = self.embedding(rows.ids, rows.places)
        visible = Visible(rows.segments, rows.segments, causal=False)
        for layer in self.layers:
            states = layer(states, visible)
        words = self.embedding.lexicon(rows.ids)
        return self.project(self.norm_words(words) + self.norm_states(states))


def _reduced(table: Tensor, width: int) -> Tensor:
    """Return embeddings in their first principal components, as long as before when scaled. (words, width)"""
    _, directions = torch.linalg.eigh(table.mT @ table)  # in the order of rising importance
    return table @ directions[:, -width:] * (table.shape[1] / width) ** 0.5


class Scorer(nn.Module):
    """An encoder for each side, or one for both."""

    def __init__(self, shape: EncoderConfig, words: int | Scorer, dropout: float = 0.0, shared: bool = False) -> None:
        """``words``: the size of the vocabulary, or another scorer whose embeddings this one reads but does not own.

        One encoder is ``shared`` by both sides, or is if those of the other scorer are.
        """
        super().__init__()
        self.shape = shape
        self.shared = shared if isinstance(words, int) else words.shared
        tables = (words, words) if isinstance(words, int) else words.tables
        if self.shared:
            self.both = SideEncoder(shape, tables[0], dropout)
        else:
            self.source, self.target = (SideEncoder(shape, table, dropout) for table in tables)

    @property
    def encoders(self) -> tuple[SideEncoder, SideEncoder]:
        """The encoders of source and target."""
        return (self.both, self.both) if self.shared else (self.source, self.target)

    @property
    def tables(self) -> tuple[nn.Embedding, nn.Embedding]:
        """The embeddings of source and target."""
        source, target = self.encoders
        return source.embedding.table, target.embedding.table

    @property
    def parts(self) -> list[nn.Module]:
        """What is compiled, each on its own."""
        encoders = self.encoders[:1] if self.shared else self.encoders
        return [part for encoder in encoders for part in (encoder.embedding, *encoder.layers)]

    def forward(self, pair: PairRows) -> Tensor:
        """Compute S, unmasked. (batch, target, source)"""
        source, target = self.encoders
        return attention_logits(target(pair.target), source(pair.source))

    @torch.no_grad()
    def attention(self, pair: PairRows) -> Attention:
        """Compute both directions' attention; of weights in half precision, S is computed in full precision."""
        if self.tables[0].weight.dtype == torch.float32:
            with half_precision(pair.source.ids.device):
                scores = self(pair)
        else:
            source, target = self._states(pair)
            scores = attention_logits(target.float(), source.float())
        cells = pair.cells()
        return Attention(masked_softmax(scores, cells, 2), masked_softmax(scores, cells, 1))

    def _states(self, pair: PairRows) -> tuple[Tensor, Tensor]:
        """Compute the states of source and target; a shared encoder reads both at once, which a GPU does faster."""
        if not self.shared:
            return self.source(pair.source), self.target(pair.target)
        lengths = [side.ids.shape[1] for side in pair]
        both = Rows(*(torch.cat(sides) for sides in zip(*(side.padded(max(lengths)) for side in pair), strict=True)))
        source, target = self.both(both).chunk(2)
        return source[:, : lengths[0]], target[:, : lengths[1]]

    def arrays(self, ranges: Mapping[str, float]) -> dict[str, np.ndarray]:
        """Quantise. Returns the arrays of a model folder by name, embeddings only if they are this scorer's own.

        A matrix becomes integers of seven bits (embeddings: eight) and ``NAME.scale``, a scale for each row. ``ranges``
        are the largest absolute inputs of the linear layers by name, from which their ``input_scale`` follows.
        """
        # Rates are stored because their last bit differs between libraries and processors.
        arrays = {"rates": sinusoid_rates(self.shape.width).numpy()}
        for name, parameter in self.named_parameters():
            value = parameter.detach().cpu().numpy()
            if value.ndim == 2:
                most = 127 if name.endswith("embedding.words.weight") else 63
                scale = (np.abs(value).max(1, keepdims=True).clip(1e-9) / most).astype(np.float32)
                arrays[f"{name}.scale"] = scale
                value = np.round(value / scale).astype(np.int8)
            arrays[name] = value
        for name, largest in ranges.items():
            steps = 255 if name.endswith("feed_forward.2") else 127  # after a ReLU there are no negative numbers
            arrays[f"{name}.input_scale"] = np.array(max(largest, 1e-9) / steps, np.float32)
        return arrays

    @torch.no_grad()
    def load_arrays(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """Take the weights over that ``arrays`` returned, as exactly as eight bits hold them. Returns this scorer."""
        for name, parameter in self.named_parameters():
            value = arrays[name]
            parameter.copy_(torch.tensor(value * arrays[f"{name}.scale"] if value.dtype == np.int8 else value))
        return self


def stored_scorers(content: AlignerFolder, dropout: float = 0.0) -> tuple[Scorer, Scorer | None]:
    """Build the scorer of a model folder and, never with dropout, the fast one that reads its embeddings, if any."""
    arrays, shape = content.encoders(fast=False)
    scorer = Scorer(shape, content.config.vocabulary, dropout, content.config.shared).load_arrays(arrays)
    arrays, shape = content.encoders(fast=True)
    return scorer, Scorer(shape, scorer).load_arrays(arrays) if shape.layers else None
