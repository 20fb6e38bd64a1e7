"""A block of lines in, their alignments as text out: what ``weft align`` does, in one process or in several."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from weft.align.alignment import Alignment
from weft.align.folder import is_small_aligner, read_aligner
from weft.align.formats import Format, formatted
from weft.apps.grid import terminal_grid
from weft.apps.picture import Panel, Picture
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.text.corpus import Block
from weft.text.pairs import OnLong, describe_too_long

Form = Format | Literal["grid"]
Device = Literal["cpu", "cuda"]
TextPair = tuple[str, str]
_SCORER_TOKENS = 32_000  # of a batch on a GPU
_BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}


class AnyAligner(Protocol):
    def align(self, pairs: Iterable[TextPair], on_long: OnLong, ahead: int = ...) -> Iterator[Alignment]: ...


@dataclass(frozen=True)
class Job:
    """What to align with, and how to write the links down."""

    model: Path
    form: Form
    raw: bool
    reverse: bool
    method: Method | None
    merge: Merge | None
    threshold: float | None
    fast: bool
    device: Device
    cores: int
    processes: int
    """That share the cores, if there is more than one block."""


class Answer(NamedTuple):
    text: str
    bad: list[BadLine]  # lines that could not be aligned, and that the text has no links for
    pairs: int
    bytes_read: int


def answer(job: Job, numbered: tuple[int, Block]) -> Answer:
    """The alignments of a block whose first pair has a number; the aligner stays in memory for the next one."""
    first, block = numbered
    bad: list[BadLine] = []

    def on_long(number: int, pieces: int) -> None:
        bad.append(BadLine(block.file, block.first_line + number, describe_too_long(pieces)))

    size = len(block.source)
    alignments = _aligner(job).align(_pairs(block, job.reverse, bad), on_long, size)
    if job.reverse:
        alignments = (alignment.reversed() for alignment in alignments)
    text = "".join(_grids(alignments) if job.form == "grid" else formatted(alignments, job.form, first))
    return Answer(text, sorted(bad, key=lambda one: one.line), size, block.bytes_read)


def _pairs(block: Block, reverse: bool, bad: list[BadLine]) -> Iterator[TextPair]:
    """The text of all pairs, the model's source language in front. A bad line is an empty pair: no line is lost."""
    for index in range(len(block.source)):
        try:
            source, target = block.pair(index)
        except BadLine as problem:
            bad.append(problem)
            source, target = "", ""
        yield (target, source) if reverse else (source, target)


def _grids(alignments: Iterable[Alignment]) -> Iterator[str]:
    """Matrices for the terminal."""
    for one in alignments:
        yield terminal_grid(Picture(one.source.words, one.target.words, (Panel("", one.links),))) + "\n\n"


@functools.lru_cache(1)
def _aligner(job: Job) -> AnyAligner:
    """A small aligner, or a whole system with what suits it best where nothing is said."""
    if not is_small_aligner(job.model):
        if job.fast:
            raise WeftError(f"{job.model}: --fast is for small aligners; choose a --method of this whole system")
        return _load_system(job)
    if job.method:
        raise WeftError(f"{job.model}: a small aligner has one method; leave out --method")
    if job.device == "cuda":
        return _load_scorer(job)
    from weft.align.aligner import Aligner

    alone = multiprocessing.parent_process() is None
    threads = job.cores if alone else max(1, job.cores // job.processes)
    return Aligner(job.model, threads, job.raw, job.merge or "mean", job.threshold, job.fast)


def _load_scorer(job: Job) -> AnyAligner:
    """A small aligner on a GPU, in half precision instead of eight bits."""
    import torch

    from weft.align.folder import GRAPH
    from weft.model.aligner import TorchAligner
    from weft.train.export import read_scorer

    config, subwords = read_aligner(job.model, job.fast)
    device = torch.device("cuda")
    scorer = read_scorer(job.model / GRAPH, config, dropout=0.0).to(device).eval()
    chosen = scorer.fast if job.fast and scorer.fast is not None else scorer
    threshold = config.threshold if job.threshold is None else job.threshold
    merge = job.merge or "mean"
    return TorchAligner(chosen.attention, subwords, device, merge, threshold, job.raw, _SCORER_TOKENS)


def _load_system(job: Job) -> AnyAligner:
    import torch

    from weft.model.aligner import TorchAligner
    from weft.model.system import AlignmentSystem

    system = AlignmentSystem.load(job.model, torch.device(job.device))
    method = job.method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{job.model}: has no {method} layers; its methods are {', '.join(system.methods)}")
    threshold = job.threshold
    if threshold is None:
        threshold = system.guided.threshold if system.guided is not None else 0.0
    merge = job.merge or _BEST_MERGE[method]
    return TorchAligner(system.attend(method), system.subwords, system.device, merge, threshold, job.raw)
