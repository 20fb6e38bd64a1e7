"""What commands that align share: blocks of pairs go to processes, each with its aligner; answers come in order."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.text.reading import Block
from weft.workers import available_cores, map_in_order

if TYPE_CHECKING:
    from weft.align.model_folder import ModelFolder
    from weft.align.windowed import OnLong, WindowedAligner
    from weft.cli.gpu_process import Address

Device = Literal["cpu", "cuda"]
Item = TypeVar("Item")
Lines = TypeVar("Lines", bound=Sized)

BLOCK_LINES: dict[Device, int] = {"cpu": 2_000, "cuda": 10_000}  # that a process aligns at a time
_MOST_PROCESSES = 256  # each has a model in memory, or reads text for the one that has
_CORES_OF_GPU = 2  # are left to the process that computes on it, for which all others wait
_MOST_WARNINGS = 10
_OBJECTS = 1_000_000  # new ones after which Python looks for cycles: a block makes many, hardly any of them in cycles


class AlignerPlan(NamedTuple):
    """All that a process needs to load an aligner."""

    model: ModelFolder
    device: Device
    cores: int
    raw: bool = False
    reverse: bool = False
    method: Method | None = None
    merge: Merge | None = None
    threshold: float | None = None
    fast: bool = False
    exact: bool = False
    gpu: Address | None = None  # of the process that computes for this one


def plan_aligner(model: str | None, cores: int, device: Device | None = None, **settings: Any) -> AlignerPlan:
    """Find a model by name or path; ``cores`` is 0 for all, and ``settings`` are the other members of the plan."""
    from weft.align.model_folder import open_model

    if cores < 0:
        raise WeftError(f"--cores is a number of cores, or 0 for all, not {cores}")
    folder = open_model(model)
    plan = AlignerPlan(folder, _device(device, folder), cores or available_cores(), **settings)
    if plan.exact and not folder.is_small_aligner:
        raise WeftError(f"{folder.path}: --exact is for small aligners; leave it out")
    if plan.exact and plan.device == "cuda":
        raise WeftError("--exact is not for GPUs; leave out --device cuda")
    return plan


def _device(wanted: Device | None, model: ModelFolder) -> Device:
    """Return where to compute. A small aligner needs no GPU, and uses one only if told to."""
    if model.is_small_aligner and wanted != "cuda":
        return "cpu"
    if importlib.util.find_spec("torch") is None:
        what = "--device cuda" if model.is_small_aligner else f"{model.path}: a whole system"
        raise WeftError(f"{what} needs torch: pip install 'weft[train]'")
    # The processes that compute look for the GPU: this one would have to import torch, which takes seconds.
    return wanted or ("cuda" if _has_gpu() else "cpu")


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


class Answer(NamedTuple, Generic[Lines]):
    """The output for a block of pairs."""

    lines: Lines  # one for each pair, or something else that has their number as its length
    bad: list[BadLine]  # those that could not be aligned
    done: int  # in units of the progress
    notes: Sequence[str] = ()  # what else to warn of: file, line and problem


def answers(
    work: Callable[[WindowedAligner, Item], Answer[Lines]],
    items: Iterable[Item],
    plan: AlignerPlan,
    progress: Progress,
    warnings: Warnings | None = None,
    one_process: bool = False,
) -> Iterator[Lines]:
    """Yield the lines of ``work(aligner, item)`` for each item, in order, computed in several processes.

    ``work`` must be picklable. Bad lines go to ``warnings``, what is done to ``progress``.
    """
    workers = 1
    if plan.model.is_small_aligner and not one_process:  # a whole system is too large to be in memory twice
        iterator = iter(items)
        first_two = list(itertools.islice(iterator, 2))
        items = itertools.chain(first_two, iterator)
        cores = plan.cores - _CORES_OF_GPU if plan.device == "cuda" else plan.cores
        workers = max(1, min(cores, _MOST_PROCESSES)) if len(first_two) == 2 else 1
    with contextlib.ExitStack() as stack:
        if plan.device == "cuda" and workers > 1:
            from weft.cli.gpu_process import gpu_process

            plan = plan._replace(gpu=stack.enter_context(gpu_process(partial(load_aligner, plan))))
        function = partial(_answer, work, plan._replace(cores=plan.cores // workers))
        yield from answers_in_order(function, items, workers, progress, warnings)


def answers_in_order(
    function: Callable[[Item], Answer[Lines]],
    items: Iterable[Item],
    processes: int,
    progress: Progress,
    warnings: Warnings | None = None,
) -> Iterator[Lines]:
    """Yield the lines of ``function(item)`` as `answers` does, of a function that needs no aligner."""
    began, pairs = time.perf_counter(), 0
    for answer in map_in_order(function, items, processes):
        if warnings is not None:
            warnings.add(answer)
        yield answer.lines
        pairs += len(answer.lines)
        rate = pairs / (time.perf_counter() - began)
        progress.advance(answer.done, pairs=f"{pairs:,}", speed=f"{rate:,.0f} pairs/s")
    if warnings is not None:
        warnings.end()


def _answer(work: Callable[[WindowedAligner, Item], Answer[Lines]], plan: AlignerPlan, item: Item) -> Answer[Lines]:
    return work(load_aligner(plan), item)


class Warnings:
    """Says which lines could not be aligned, as long as there are few."""

    def __init__(
        self,
        progress: Progress,
        instead: str = "",
        strict: bool = False,
        lines_before: Callable[[], int] = lambda: 0,
        shown_as: str = "",
    ) -> None:
        """``instead`` ends a warning: what the output has for such a line. ``strict``: raise them.

        ``lines_before`` returns how many lines the file has before those that are counted; it is called if one is bad.
        ``shown_as`` is what warnings call the file, if not by its name.
        """
        self._progress, self._instead, self._strict, self._lines_before = progress, instead, strict, lines_before
        self._shown_as = shown_as
        self._count = 0
        self._is_first = True

    def add(self, answer: Answer) -> None:
        """Warn of the bad lines of a block. Raises WeftError if none is wanted, or if the first block has no other."""
        pairs = len(answer.lines)
        bad = [
            BadLine(self._shown_as or one.file, one.line + self._lines_before(), one.problem)
            for one in sorted(answer.bad, key=lambda one: one.line)
        ]
        if bad and self._strict:
            raise bad[0]
        if self._is_first and len(bad) == pairs > 1:
            raise WeftError(
                f"{bad[0]}; nor can any of the first {pairs:,} lines be aligned: "
                "is the text of another format, or its second file missing?"
            )
        self._is_first = False
        warnings = [*(f"{one}; {self._instead}" for one in bad), *answer.notes]
        for one in warnings[: max(_MOST_WARNINGS - self._count, 0)]:
            self._progress.say(f"weft: {one}")
        self._count += len(warnings)

    def end(self) -> None:
        """Say how many warnings were left out."""
        if self._count > _MOST_WARNINGS:
            self._progress.say(f"weft: {self._count - _MOST_WARNINGS:,} more lines could not be aligned")


def pairs_of(block: Block, bad: list[BadLine]) -> Iterator[tuple[str, str]]:
    """Yield the text of all pairs of a block. A line that goes to ``bad`` is an empty pair: no line is lost."""
    for index in range(len(block.source)):
        try:
            yield block.pair(index)
        except BadLine as problem:
            bad.append(problem)
            yield "", ""


def long_lines_of(block: Block, bad: list[BadLine]) -> OnLong:
    """Return what puts pairs of a block that are too long into ``bad``."""
    from weft.align.windowed import describe_too_long

    def on_long(index: int, pieces: int) -> None:
        bad.append(BadLine(block.file, block.line(index), describe_too_long(pieces)))

    return on_long


@functools.lru_cache(1)
def load_aligner(plan: AlignerPlan) -> WindowedAligner:
    """Load a small aligner or a whole system; it stays in memory for the next block."""
    gc.set_threshold(_OBJECTS)
    if plan.gpu is not None:
        from weft.cli.gpu_process import RemoteAligner

        return RemoteAligner(plan.gpu, plan.model, plan.merge or "mean", plan.threshold, plan.raw, plan.reverse)
    if plan.device == "cuda" and not _has_gpu():
        raise WeftError("--device cuda: torch finds no GPU here; leave it out")
    folder, method, threshold = plan.model.path, plan.method, plan.threshold
    text = {"raw": plan.raw, "reverse": plan.reverse}
    if not plan.model.is_small_aligner:
        if plan.fast:
            raise WeftError(f"{folder}: --fast is for small aligners; choose a --method of this whole system")
        from weft.model.torch_aligner import system_aligner

        return system_aligner(folder, plan.device, method, merge=plan.merge, threshold=threshold, **text)
    if method:
        raise WeftError(f"{folder}: a small aligner has one method; leave out --method")
    merge = plan.merge or "mean"
    if plan.device == "cuda":
        from weft.model.torch_aligner import scorer_aligner

        return scorer_aligner(plan.model, plan.device, plan.fast, merge=merge, threshold=threshold, **text)
    from weft.align.onnx_aligner import Aligner

    return Aligner(
        plan.model, cores=plan.cores, fast=plan.fast, exact=plan.exact, merge=merge, threshold=threshold, **text
    )
