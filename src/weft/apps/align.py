"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from weft.align.folder import is_small_aligner
from weft.align.html import PAGE_END, PAGE_START
from weft.align.shipped import find_model
from weft.apps.answer import Device, Form, Job, answer
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.text.corpus import Block, Corpus
from weft.text.parallel import map_in_order, processes

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
        yield first + skip, block.behind(skip)
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
