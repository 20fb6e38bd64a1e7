"""Batches of sentence pairs in packed rows, and the value types that every model and stage passes around.

Attention is always (batch, target, source) as the corpus has its sides, also for the backward model, which reads the
target sentence and predicts the source: ``Attention.forward`` sums to one over source words, ``Attention.backward``
over target words.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.config import Direction
from weft.text.subwords import END, PAD

DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")


class Rows(NamedTuple):
    """Packed rows of ids and what they imply. All (batch, length)."""

    ids: Tensor
    segments: Tensor  # the number of the sentence in its row that each token belongs to; padding is -1
    places: Tensor  # the position of each token within its sentence

    @classmethod
    def of(cls, ids: Tensor) -> Rows:
        """Find the sentences in rows of ids (batch, length)."""
        ends = (ids == END).int()
        segments = torch.where(ids == PAD, -1, ends.cumsum(1, dtype=torch.int32) - ends)
        column = torch.arange(ids.shape[1], device=ids.device)
        begins = F.pad(ids[:, :-1] == END, (1, 0), value=False)
        return cls(ids, segments, column - torch.where(begins, column, 0).cummax(1).values)

    def padded(self, length: int) -> Rows:
        """Return the same rows with so many tokens."""
        more = (0, length - self.ids.shape[1])
        return Rows(F.pad(self.ids, more, value=PAD), F.pad(self.segments, more, value=-1), F.pad(self.places, more))


class Visible(NamedTuple):
    """Which keys a query may look at: those of its own sentence and, if causal, not those after it."""

    queries: Tensor  # (batch, query) segments
    keys: Tensor  # (batch, key) segments
    causal: bool

    def mask(self) -> Tensor:
        """Return True where a query sees a key. (batch, 1, query, key)

        Padding is never a visible key. As a query it looks at the first sentence, so that no softmax is empty.
        """
        seen = self.queries.clamp(min=0)[:, :, None] == self.keys[:, None, :]
        if self.causal:
            seen = seen & torch.ones(seen.shape[1:], dtype=torch.bool, device=seen.device).tril()
        return seen[:, None]


class PairRows(NamedTuple):
    """A batch of sentence pairs: the rows that a model reads and those that it predicts."""

    source: Rows
    target: Rows

    @classmethod
    def of(cls, source: Tensor, target: Tensor) -> PairRows:
        """Build a batch from ids (batch, source) and (batch, target)."""
        return cls(Rows.of(source), Rows.of(target))

    def seen(self, direction: Direction) -> PairRows:
        """Return the same pairs as the model of a direction sees them."""
        return self if direction == "forward" else PairRows(self.target, self.source)

    def cells(self) -> Tensor:
        """Return a mask of the cells within sentence pairs, end-of-sentence included. (batch, target, source)"""
        real = self.target.segments[:, :, None] >= 0
        return real & (self.target.segments[:, :, None] == self.source.segments[:, None, :])

    def word_cells(self) -> Tensor:
        """Return a mask of the cells between two words of one sentence pair. (batch, target, source)"""
        return self.cells() & is_word(self.target.ids)[:, :, None] & is_word(self.source.ids)[:, None, :]


class Attention(NamedTuple):
    """The attention of both directions, each (batch, target, source)."""

    forward: Tensor
    backward: Tensor


Attend = Callable[[PairRows], Attention]
"""Anything that attends: a method of a system, a scorer, or several of them together."""


class Milestone:
    """What a device has been told to do until now."""

    def __init__(self, device: torch.device) -> None:
        self._event = torch.cuda.Event(blocking=True) if device.type == "cuda" else None
        if self._event is not None:
            self._event.record()

    def wait(self) -> None:
        """Wait until it is done, and leave the core to others, which torch does not do when it waits for results."""
        if self._event is not None:
            self._event.synchronize()


def is_word(ids: Tensor) -> Tensor:
    """Return True for words, False for padding and end-of-sentence, which no alignment loss counts."""
    return (ids != PAD) & (ids != END)


def masked_softmax(logits: Tensor, cells: Tensor, dim: int) -> Tensor:
    """Return softmax over ``dim`` within ``cells``; rows or columns without any cell become 0."""
    return torch.where(cells, logits, -torch.inf).softmax(dim).nan_to_num(0.0)


def has_half_precision(device: torch.device) -> bool:
    """Tell whether a device computes in bfloat16 at full speed: NVIDIA GPUs from Ampere on."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 8


def half_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Return the context to compute with finished models in: bfloat16 if the GPU has it."""
    return torch.autocast("cuda", torch.bfloat16) if has_half_precision(device) else nullcontext()
