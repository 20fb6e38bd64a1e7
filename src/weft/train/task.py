"""What a stage trains: a module, the text it learns from, and the loss that is minimised."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from weft.config import TrainingConfig
from weft.corpus.packing import PackedRows, pack
from weft.corpus.prepared import PreparedCorpus, Side
from weft.errors import WeftError
from weft.model.rows import PairRows, has_half_precision
from weft.text.subwords import Subwords

_SAMPLE_ROWS = 64  # enough to choose a layer or to measure ranges on


class Text:
    """Sentence pairs to learn from, packed into rows when they are first needed."""

    def __init__(self, make: Callable[[], PackedRows]) -> None:
        self._make = make

    @classmethod
    def of(cls, corpus: PreparedCorpus, training: TrainingConfig, pairs: int = 0) -> Text:
        """Take so many of an epoch's pairs, chosen at random (0: all), in rows as a training wants them."""
        return cls(partial(_packed, corpus, training.row_length, training.seed, pairs))

    @cached_property
    def rows(self) -> PackedRows:
        return self._make()

    def swapped(self) -> Text:
        """Return the same text for the opposite direction of translation."""
        return Text(lambda: self.rows.swapped())

    def both_ways(self) -> Text:
        """Return the same text for both directions of translation."""
        return Text(lambda: self.rows.both_ways())

    def sample(self, device: torch.device) -> PairRows:
        """Return the first rows, on the device."""
        rows = torch.arange(min(_SAMPLE_ROWS, len(self.rows)), device=device)
        return ResidentRows(self.rows, device).pair(rows)


@lru_cache(maxsize=3)  # most stages learn from the same rows, and packing millions of pairs takes half a minute
def _packed(corpus: PreparedCorpus, row_length: int, seed: int, pairs: int) -> PackedRows:
    return pack(corpus.source, corpus.target, row_length, seed, pairs, corpus.draws(seed))


def encoded_sides(pairs: Iterable[tuple[str, str]], subwords: Subwords) -> tuple[Side, Side]:
    """Cut sentence pairs into pieces. Returns both sides of all pairs that have pieces on both."""
    encoded = [tuple(map(subwords.ids, pair)) for pair in pairs]
    sides = zip(*(pair for pair in encoded if all(pair)), strict=True)
    source, target = (side_of(list(side)) for side in (tuple(sides) or ((), ())))
    return source, target


def side_of(sentences: Sequence[Sequence[int]]) -> Side:
    """Return sentences, each given as its pieces, as one side of a text."""
    offsets = np.cumsum([0, *map(len, sentences)])
    return Side(np.array(list(itertools.chain.from_iterable(sentences)), np.int64), offsets)


class ResidentRows:
    """The rows of a text as tensors on the device."""

    def __init__(self, rows: PackedRows, device: torch.device) -> None:
        # int32: the smallest type that torch can index with, gather from and compare on every device
        self.source = torch.from_numpy(rows.source.astype("int32")).to(device)  # (rows, source length)
        self.target = torch.from_numpy(rows.target.astype("int32")).to(device)

    def pair(self, rows: Tensor) -> PairRows:
        """Return some of the rows."""
        return PairRows.of(self.source[rows], self.target[rows])


class Sums(NamedTuple):
    """What a task finds in some rows; scalars."""

    loss: Tensor  # summed over all tokens
    tokens: Tensor  # how many
    figures: tuple[Tensor, ...]  # means, named by ``Task.figures``


class Task:
    """What a stage feeds and minimises. Stages override ``sums`` and, if they need it, the other methods."""

    figures: tuple[str, ...] = ()
    rows: ResidentRows

    def __init__(self, module: nn.Module, text: Text, training: TrainingConfig, device: torch.device) -> None:
        self.module = module
        """Its trainable parameters are updated and saved."""
        self.text, self.training, self.device = text, training, device
        self.precision = precision(training, device)

    def prepare(self) -> None:
        """Get ready to train: called once, and only if there is something to train."""
        self.module.to(self.device).train()
        self.rows = ResidentRows(self.text.rows, self.device)

    def begin(self, fraction: float) -> None:
        """Called before each update with the share of the training that is done."""

    def sums(self, rows: Tensor) -> Sums:
        """Return loss, tokens and figures of rows of the text (rows,). Recorded as a CUDA graph: tensors only."""
        raise NotImplementedError

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Called with every report; may raise an exception to end a training that has gone wrong."""


def compile_parts(parts: Iterable[nn.Module], config: TrainingConfig, device: torch.device) -> None:
    """Compile modules, each on its own, for batches of one size, if a training wants that.

    Copies of them are not compiled. They should be used for anything else: each other size is compiled anew.
    """
    if config.compile == "yes" or (config.compile == "auto" and device.type == "cuda"):
        for part in parts:
            part.compile(dynamic=False)


def trains_in_half(config: TrainingConfig, device: torch.device) -> bool:
    """Tell whether to train in bfloat16. Raises WeftError if that is asked of a GPU that does not have it."""
    if config.precision == "bfloat16" and device.type == "cuda" and not has_half_precision(device):
        raise WeftError(f"{torch.cuda.get_device_name(device)} has no bfloat16; choose precision auto or float32")
    return config.precision == "bfloat16" or (config.precision == "auto" and has_half_precision(device))


def precision(config: TrainingConfig, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context to train in."""
    return torch.autocast(device.type, torch.bfloat16) if trains_in_half(config, device) else nullcontext()
