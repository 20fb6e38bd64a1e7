"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TextIO

import tyro

from weft.align.alignment import Alignment
from weft.align.formats import PAGE_END, PAGE_START, Format, formatted
from weft.align.model_folder import find_model, is_small_aligner, read_aligner
from weft.align.pictures import Panel, Picture, terminal_grid
from weft.align.windowed import WindowedAligner, describe_too_long
from weft.cli.options import choice
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.text.reading import Block, Corpus
from weft.workers import map_in_order, processes


def align(
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-",
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = "",
    /,
    *,
    model: str,
    format: Literal["pharaoh", "probabilities", "words", "giza", "jsonl", "html", "grid"] = "pharaoh",
    raw: bool = False,
    reverse: bool = False,
    method: Annotated[Method | None, choice("METHOD", "the best that it has")] = None,
    merge: Annotated[Merge | None, choice("RULE", "what suits the method")] = None,
    threshold: Annotated[float | None, choice("0…1", "what the model says")] = None,
    fast: bool = False,
    strict: bool = False,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")] = None,
    resume: bool = False,
    line_buffered: bool = False,
    device: Annotated[
        Literal["cpu", "cuda"] | None, choice("cpu,cuda", "cpu; for a whole system a GPU if there is")
    ] = None,
    cores: int = 0,
) -> None:
    """Align sentence pairs, a line of links for each line of text: `weft align --model de-en corpus.tsv > links.txt`.

    Args:
        file: Lines of source TAB target or source ||| target, words between spaces; .jsonl, .parquet, or the source
            side alone; also .gz, .xz and .zst; - is stdin.
        target: The target side, if the file has only the source side.
        model: A name that `weft models` lists, or a folder: of a small aligner (run/aligner) or a system (run/model).
        format: `0-0 1-2`, `0-0:0.97 1-2:0.55`, `das|the`, A3 lines, offsets and all; html and grid are to look at.
        raw: The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces.
        reverse: The text has the model's target language first; the links, too.
        method: How a whole system aligns: forward-pass, optimised, bidirectional or guided.
        merge: How links are made of both directions: mean, best-cells, intersection, union, grow-diag, grow-diag-final,
            grow-diag-final-and, lilt-grow-diag, lilt-grow-diag-final; or forward or backward alone.
        threshold: For --merge mean: the probability that a link needs. Higher: fewer and better links.
        fast: Use the narrow encoders of a small aligner, where it has them: faster, less accurate.
        strict: Stop at a line that cannot be aligned, instead of giving an empty line and a warning.
        output: Write into this file instead of stdout; until it is finished it is called FILE.partial.
        resume: Go on with FILE.partial where an earlier command with the same options was interrupted.
        line_buffered: Answer each line before the next is read, for programs that wait for it; slower.
        device: Where to compute; cuda needs torch.
        cores: How many cores of the processor to use; 0 for all.
    """
    from weft.text.reading import Corpus

    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,))
    align_file(
        model,
        corpus,
        output,
        form=format,
        raw=raw,
        reverse=reverse,
        method=method,
        merge=merge,
        threshold=threshold,
        fast=fast,
        strict=strict,
        resume=resume,
        line_buffered=line_buffered,
        device=device,
        cores=cores,
    )


_LINE_BY_LINE = ("pharaoh", "probabilities", "words", "jsonl")
_MOST_PROCESSES = 16  # each has a model in memory
_BLOCK_LINES: dict[Device, int] = {"cpu": 2_000, "cuda": 10_000}  # that a process aligns at a time


def align_file(
    model: str,
    corpus: Corpus,
    output: Path | None,
    *,
    form: Form,
    raw: bool,
    reverse: bool,
    method: Method | None,
    merge: Merge | None,
    threshold: float | None,
    fast: bool,
    strict: bool,
    resume: bool,
    line_buffered: bool,
    device: Device | None,
    cores: int,
) -> None:
    """Write the links of sentence pairs, in their order."""
    if resume and (output is None or form not in _LINE_BY_LINE):
        raise WeftError(f"--resume needs --output and a format of one line a pair: {', '.join(_LINE_BY_LINE)}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise WeftError(f"--threshold is a probability, from 0 to 1, not {threshold:g}")
    if cores < 0:
        raise WeftError(f"--cores is a number of cores, or 0 for all, not {cores}")
    if output is not None and output.is_dir():
        raise WeftError(f"{output}: is a folder; give the name of a file")
    if resume and output is not None and output.exists() and not _partial(output).exists():
        say(f"{output}: already finished")
        return
    folder = find_model(model)
    small = is_small_aligner(folder)
    cores = cores or processes()
    # Several processes have nothing to wait for; but a whole system is too large to be in memory twice.
    workers = min(cores, _MOST_PROCESSES) if small and not line_buffered else 1
    place = _device(device, folder, small)
    job = Job(folder, form, raw, reverse, method, merge, threshold, fast, place, cores, workers)
    on_screen = output is None and sys.stdout.isatty()
    with Progress(visible=not on_screen) as progress, _opened(output, resume) as (out, done):
        progress.phase("aligning", corpus.size(), "B")
        blocks = _numbered(corpus.blocks(1 if line_buffered else _BLOCK_LINES[place]), done)
        began, pairs = time.perf_counter(), 0
        out.write(PAGE_START if form == "html" else "")
        for text, bad, size, bytes_read in map_in_order(partial(answer, job), blocks, workers):
            _report(bad, strict, progress)
            out.write(text)
            if line_buffered:
                out.flush()
            pairs += size
            rate = pairs / (time.perf_counter() - began)
            progress.advance(bytes_read, pairs=f"{pairs:,}", speed=f"{rate:,.0f} pairs/s")
        out.write(PAGE_END if form == "html" else "")


def _device(wanted: Device | None, model: Path, small: bool) -> Device:
    """Where to compute. Small aligners need no GPU, and use one only where they are told to."""
    if small and wanted != "cuda":
        return "cpu"
    try:
        import torch
    except ImportError:
        what = "--device cuda" if small else f"{model}: a whole system"
        raise WeftError(f"{what} needs torch: pip install 'weft[train]'") from None
    if wanted == "cuda" and not torch.cuda.is_available():
        raise WeftError("--device cuda: torch finds no GPU here; leave it out")
    return wanted or ("cuda" if torch.cuda.is_available() else "cpu")


def _numbered(blocks: Iterable[Block], done: int) -> Iterator[tuple[int, Block]]:
    """Blocks and the number of their first pair, without the pairs that are done."""
    first = 1
    for block in blocks:
        skip = min(max(done + 1 - first, 0), len(block.source))
        yield first + skip, block.without_first(skip)
        first += len(block.source)


def _report(bad: Sequence[BadLine], strict: bool, progress: Progress) -> None:
    for one in bad:
        problem = f"{one.file}:{one.line}: {one.problem}"
        if strict:
            raise WeftError(problem)
        progress.say(f"weft: {problem}; its links are an empty line")


@contextlib.contextmanager
def _opened(output: Path | None, resume: bool) -> Iterator[tuple[TextIO, int]]:
    """Where text goes, and how many lines of it are there already.

    A file gets its name when it is finished; until then it is called .partial, and --resume goes on with that.
    """
    if output is None:
        yield sys.stdout, 0
        return
    unfinished = _partial(output)
    try:
        done = _whole_lines(unfinished) if resume and unfinished.exists() else 0
        with unfinished.open("a" if done else "w", encoding="utf-8", newline="\n") as file:
            yield file, done
        unfinished.replace(output)
    except WeftError:
        if not unfinished.stat().st_size:
            unfinished.unlink()  # nothing to go on with
        raise
    except OSError as error:
        raise WeftError(f"{output}: cannot be written: {error.strerror}") from None


def _partial(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")


def _whole_lines(path: Path) -> int:
    """How many lines a file has; what a kill has left of another one is cut off."""
    lines = end = 0
    with path.open("rb+") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, end = lines + 1, end + len(line)
        file.truncate(end)
    return lines


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
    alignments = _aligner(job).stream(_pairs(block, bad), on_long, size)
    text = "".join(_grids(alignments) if job.form == "grid" else formatted(alignments, job.form, first))
    return Answer(text, sorted(bad, key=lambda one: one.line), size, block.bytes_read)


def _pairs(block: Block, bad: list[BadLine]) -> Iterator[TextPair]:
    """Yield the text of all pairs. A bad line is an empty pair: no line is lost."""
    for index in range(len(block.source)):
        try:
            yield block.pair(index)
        except BadLine as problem:
            bad.append(problem)
            yield "", ""


def _grids(alignments: Iterable[Alignment]) -> Iterator[str]:
    """Matrices for the terminal."""
    for one in alignments:
        yield terminal_grid(Picture(one.source.words, one.target.words, (Panel("", one.links),))) + "\n\n"


@functools.lru_cache(1)
def _aligner(job: Job) -> WindowedAligner:
    """A small aligner, or a whole system with what suits it best where nothing is said."""
    if not is_small_aligner(job.model):
        if job.fast:
            raise WeftError(f"{job.model}: --fast is for small aligners; choose a --method of this whole system")
        return _load_system(job)
    if job.method:
        raise WeftError(f"{job.model}: a small aligner has one method; leave out --method")
    if job.device == "cuda":
        return _load_scorer(job)
    from weft.align.onnx_aligner import Aligner

    alone = multiprocessing.parent_process() is None
    threads = job.cores if alone else max(1, job.cores // job.processes)
    return Aligner(
        job.model,
        cores=threads,
        raw=job.raw,
        reverse=job.reverse,
        merge=job.merge or "mean",
        threshold=job.threshold,
        fast=job.fast,
    )


def _load_scorer(job: Job) -> WindowedAligner:
    """A small aligner on a GPU, in half precision instead of eight bits."""
    import torch

    from weft.model.scorer import stored_scorers
    from weft.model.torch_aligner import TorchAligner

    content = read_aligner(job.model, job.fast)
    device, merge = torch.device("cuda"), job.merge or "mean"
    scorer, fast = (one and one.to(device).eval() for one in stored_scorers(content))
    chosen = fast if job.fast else scorer
    assert chosen is not None
    threshold = content.config.threshold if job.threshold is None else job.threshold
    return TorchAligner(
        chosen.attention, content.subwords, device, merge, threshold, job.raw, job.reverse, _SCORER_TOKENS
    )


def _load_system(job: Job) -> WindowedAligner:
    import torch

    from weft.model.system import AlignmentSystem
    from weft.model.torch_aligner import TorchAligner

    system = AlignmentSystem.load(job.model, torch.device(job.device))
    method = job.method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{job.model}: has no {method} layers; its methods are {', '.join(system.methods)}")
    threshold = job.threshold
    if threshold is None:
        threshold = system.guided.threshold if system.guided is not None else 0.0
    merge = job.merge or _BEST_MERGE[method]
    return TorchAligner(system.attend(method), system.subwords, system.device, merge, threshold, job.raw, job.reverse)
