"""What a stage trains: a module, the text it learns from, and the loss that is minimised."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from weft.config import TrainingConfig
from weft.corpus.packed_rows import PackedRows
from weft.corpus.packing import packed_corpus
from weft.corpus.prepared import PreparedCorpus, Side
from weft.errors import WeftError
from weft.model.rows import PairRows, has_half_precision
from weft.progress import Progress
from weft.text.subwords import Subwords
from weft.train.distributed import Process

_SAMPLE_ROWS = 64  # enough to choose a layer or to measure ranges on


class Text:
    """Sentence pairs to learn from, packed into rows when they are first needed, by all processes together."""

    def __init__(self, make: Callable[[], PackedRows]) -> None:
        self._make = make

    @classmethod
    def of(
        cls, corpus: PreparedCorpus, training: TrainingConfig, folder: Path, process: Process, pairs: int = 0
    ) -> Text:
        """Take so many of an epoch's pairs, chosen at random (0: all), in rows as a training wants them.

        The rows are kept in ``folder``, beside those of other trainings.
        """
        return cls(partial(_kept_rows, corpus, training, folder, process, pairs))

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
        return pair_rows(self.rows, np.arange(min(_SAMPLE_ROWS, len(self.rows))), device)


def _kept_rows(
    corpus: PreparedCorpus, training: TrainingConfig, folder: Path, process: Process, pairs: int
) -> PackedRows:
    """Open the rows of a training; the first process packs them before, unless that was done."""
    length, seed = training.row_length, training.seed
    own = folder / f"{pairs or 'all'}-pairs-length-{length}-seed-{seed}"
    if not process.first:
        process.wait()
    with Progress(visible=process.first) as progress:
        rows = packed_corpus(corpus, length, seed, pairs, own, progress)
    if process.first:
        process.wait()
    return rows


def pair_rows(packed: PackedRows, rows: np.ndarray, device: torch.device) -> PairRows:
    """Return some rows, on the device."""
    source, target = (torch.from_numpy(side).to(device) for side in packed.take(rows))
    return PairRows.of(source, target)


def encoded_sides(pairs: Iterable[tuple[str, str]], subwords: Subwords) -> tuple[Side, Side]:
    """Cut sentence pairs into pieces. Returns both sides of all pairs that have pieces on both."""
    encoded = [tuple(map(subwords.ids, pair)) for pair in pairs]
    sides = zip(*(pair for pair in encoded if all(pair)), strict=True)
    source, target = (side_of(list(side)) for side in (tuple(sides) or ((), ())))
    return source, target


def side_of(sentences: Sequence[Sequence[int] | np.ndarray]) -> Side:
    """Return sentences, each given as its pieces, as one side of a text."""
    offsets = np.cumsum([0, *map(len, sentences)])
    return Side(np.array(list(itertools.chain.from_iterable(sentences)), np.int64), offsets)


class Sums(NamedTuple):
    """What a task finds in some rows; scalars."""

    loss: Tensor  # summed over all tokens
    tokens: Tensor  # how many
    figures: tuple[Tensor, ...]  # means, named by ``Task.figures``


class Task:
    """What a stage feeds and minimises. Stages override ``sums`` and, if they need it, the other methods."""

    figures: tuple[str, ...] = ()

    def __init__(self, module: nn.Module, text: Text, training: TrainingConfig, device: torch.device) -> None:
        self.module = module
        """Its trainable parameters are updated and saved."""
        self.text, self.training, self.device = text, training, device
        self.precision = precision(training, device)

    def prepare(self) -> None:
        """Get ready to train: called once, and only if there is something to train."""
        self.module.to(self.device).train()

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return all that an update needs of some rows of the text, in arrays whose first dimension is that of rows.

        Called in another thread, before the update is due. The first two arrays are those of `PackedRows.take`.
        """
        return self.text.rows.take(rows)

    def begin(self, fraction: float) -> None:
        """Called before each update with the share of the training that is done."""

    def sums(self, batch: Sequence[Tensor]) -> Sums:
        """Return loss, tokens and figures of a batch, on the device. Recorded as a CUDA graph: tensors only."""
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
