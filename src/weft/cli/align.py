"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import tyro

import weft
from weft.align.formats import FORMATS, FormatName
from weft.cli.options import choice
from weft.cli.output import is_finished, open_output
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.storage import checksum_of
from weft.text.reading import Block, Corpus, Form
from weft.workers import available_cores, map_in_order

if TYPE_CHECKING:
    from weft.align.model_folder import ModelFolder
    from weft.align.windowed import WindowedAligner

Device = Literal["cpu", "cuda"]

_MOST_PROCESSES = 16  # each has a model in memory
_MOST_WARNINGS = 10
_OBJECTS = 100_000  # new ones after which Python looks for cycles: a block makes many, hardly any of them in cycles
_BLOCK_LINES: dict[Device, int] = {"cpu": 2_000, "cuda": 10_000}  # that a process aligns at a time


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """Lines of source TAB target or source ||| target, words between spaces; .jsonl, .parquet; .tmx, .xlf, .po or an
    OPUS .zip, mostly with --raw; or the source side alone; also .gz, .xz and .zst; - is stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = ""
    """The target side, if the file has only the source side."""
    _: KW_ONLY
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder: of a small aligner (run/aligner) or a system (run/model)."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the file's name says, and columns for stdin."""
    languages: Annotated[tuple[str, str] | None, choice("CODE CODE", "the two that there are, source first")] = None
    """Source and target language of a memory (.tmx, .xlf, .po, .zip), such as de en; en is also en-US."""
    format: FormatName = "pharaoh"
    """`0-0 1-2`, `0-0:0.97 1-2:0.55`, `das|the`, A3 lines, offsets and all; html and grid are to look at."""
    raw: bool = False
    """The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces."""
    reverse: bool = False
    """The text has the model's target language first; so have the links."""
    method: Annotated[Method | None, choice("METHOD", "the best that it has")] = None
    """How a whole system aligns: forward-pass, optimised, bidirectional or guided."""
    merge: Annotated[Merge | None, choice("RULE", "what suits the method")] = None
    """How links are made of both directions: mean, best-cells, intersection, union, grow-diag, grow-diag-final,
    grow-diag-final-and, lilt-grow-diag, lilt-grow-diag-final; or forward or backward alone."""
    threshold: Annotated[float | None, choice("0…1", "what the model says")] = None
    """For --merge mean: the probability that a link needs (beside another link, three fifths of it). Higher: fewer and
    better links."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    strict: bool = False
    """Stop at a line that cannot be aligned, instead of leaving its links out with a warning."""
    output: Annotated[str | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")] = None
    """Write into this file instead of stdout; until it is finished it is called FILE.partial. One that ends in .gz,
    .xz or .zst is compressed."""
    resume: bool = False
    """Continue FILE.partial of an interrupted command that had the same text, model and options."""
    line_buffered: bool = False
    """Answer each line before the next is read, for programs that wait for it; slower."""
    device: Annotated[Device | None, choice("cpu,cuda", "cpu; for a whole system a GPU if there is one")] = None
    """Where to compute; cuda needs torch."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        lines = [name for name, form in FORMATS.items() if form.is_line]
        if self.resume and (self.output is None or self.format not in lines):
            raise WeftError(f"--resume needs --output and a format of one line a pair: {', '.join(lines)}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise WeftError(f"--threshold is a probability, from 0 to 1, not {self.threshold:g}")
        if self.languages and self.languages[0] == self.languages[1]:
            raise WeftError(f"--languages needs two different languages, not {self.languages[0]} twice")
        if self.cores < 0:
            raise WeftError(f"--cores is a number of cores, or 0 for all, not {self.cores}")

    @property
    def inputs(self) -> list[str]:
        return [self.file, self.target] if self.target else [self.file]


class Job(NamedTuple):
    """What a worker process needs to align blocks."""

    options: Options
    model: ModelFolder
    device: Device
    threads: int


class Answer(NamedTuple):
    """The output for a block of lines."""

    text: str
    bad: list[BadLine]  # lines that could not be aligned
    pairs: int
    bytes_read: int


def align(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Align sentence pairs, a line of links for each line: `weft align corpus.tsv > links.txt`."""
    from weft.align.model_folder import open_model

    options.check()
    corpus = Corpus.of(options.inputs, options.input_format, options.languages or ())
    model = open_model(options.model)
    device = _device(options.device, model)
    if options.resume and options.output is not None and is_finished(options.output):
        say(f"weft: {options.output}: already finished; --resume leaves it as it is")
        return
    form = FORMATS[options.format]
    made_by = partial(_made_by, options, model.path, device) if form.is_line else None
    with (
        Progress(visible=options.output is not None or not sys.stdout.isatty()) as progress,
        open_output(options.output, options.inputs, made_by, options.resume) as (out, done),
    ):
        progress.phase("aligning", corpus.size(), "B")
        blocks = corpus.blocks(1 if options.line_buffered else _BLOCK_LINES[device])
        if done:
            blocks = _without_first(blocks, done, f"{options.output}.partial")
        cores, workers = options.cores or available_cores(), 1
        if model.is_small_aligner and not options.line_buffered:  # a whole system is too large to be in memory twice
            first_two = list(itertools.islice(blocks, 2))
            blocks = itertools.chain(first_two, blocks)
            workers = min(cores, _MOST_PROCESSES) if len(first_two) == 2 else 1
        job = Job(options, model, device, cores // workers)
        warnings = _Warnings(options, progress)
        began, pairs = time.perf_counter(), 0
        out.write(form.start)
        for answer in map_in_order(partial(_answer, job), blocks, workers):
            warnings.add(answer)
            out.write(answer.text)
            if options.line_buffered:
                out.flush()
            pairs += answer.pairs
            rate = pairs / (time.perf_counter() - began)
            progress.advance(answer.bytes_read, pairs=f"{pairs:,}", speed=f"{rate:,.0f} pairs/s")
        warnings.end()
        out.write(form.end)


def _device(wanted: Device | None, model: ModelFolder) -> Device:
    """Return where to compute. A small aligner needs no GPU, and uses one only if told to."""
    if model.is_small_aligner and wanted != "cuda":
        return "cpu"
    try:
        import torch
    except ImportError:
        what = "--device cuda" if model.is_small_aligner else f"{model.path}: a whole system"
        raise WeftError(f"{what} needs torch: pip install 'weft[train]'") from None
    if wanted == "cuda" and not torch.cuda.is_available():
        raise WeftError("--device cuda: torch finds no GPU here; leave it out")
    return wanted or ("cuda" if torch.cuda.is_available() else "cpu")


def _made_by(options: Options, model: Path, device: Device) -> dict[str, Any]:
    """Return all that the links depend on, to compare before a file is resumed."""
    names = ("input_format", "format", "raw", "reverse", "method", "merge", "threshold", "fast")
    weights = [path for path in sorted(model.iterdir()) if path.is_file() and path.name != "README.md"]
    text = [checksum_of(Path(name))[:16] if Path(name).is_file() else "no file" for name in options.inputs]
    return {
        **{name: getattr(options, name) for name in names},
        "languages": list(options.languages or ()),
        "text": text,
        "model": [checksum_of(path)[:16] for path in weights],
        "device": device,
        "version of weft": weft.__version__,
    }


def _without_first(blocks: Iterable[Block], done: int, partial_file: str) -> Iterator[Block]:
    """Yield blocks without the lines that are done already."""
    last = 0
    for block in blocks:
        last = block.first_line + len(block.source) - 1
        skip = min(max(done + 1 - block.first_line, 0), len(block.source))
        yield block.without_first(skip)
    if last < done:
        raise WeftError(f"{partial_file}: has {done:,} lines, but the text {last:,}; without --resume it is made anew")


class _Warnings:
    """Says which lines could not be aligned, as long as there are few."""

    def __init__(self, options: Options, progress: Progress) -> None:
        self._options, self._progress = options, progress
        self._gap = FORMATS[options.format].gap
        self._count = 0
        self._is_first = True

    def add(self, answer: Answer) -> None:
        """Warn of the bad lines of a block. Raises WeftError if none is wanted, or if the first block has no other."""
        bad = answer.bad
        if bad and self._options.strict:
            raise bad[0]
        if self._is_first and len(bad) == answer.pairs > 1:
            raise WeftError(
                f"{bad[0]}; nor can any of the first {answer.pairs:,} lines be aligned: "
                "is the text of another format, or its second file missing?"
            )
        self._is_first = False
        for one in bad[: max(_MOST_WARNINGS - self._count, 0)]:
            self._progress.say(f"weft: {one}; the output has {self._gap} for it")
        self._count += len(bad)

    def end(self) -> None:
        """Say how many warnings were left out."""
        if self._count > _MOST_WARNINGS:
            self._progress.say(f"weft: {self._count - _MOST_WARNINGS:,} more lines could not be aligned")


def _answer(job: Job, block: Block) -> Answer:
    """Align a block; the aligner stays in memory for the next one."""
    from weft.align.windowed import describe_too_long

    bad: list[BadLine] = []

    def on_long(index: int, pieces: int) -> None:
        bad.append(BadLine(block.file, block.line(index), describe_too_long(pieces)))

    size, one = len(block.source), FORMATS[job.options.format].one
    alignments = _aligner(job).stream(_pairs(block, bad), on_long, size)
    text = "".join(one(alignment, number) for number, alignment in enumerate(alignments, block.first_line))
    return Answer(text, sorted(bad, key=lambda one: one.line), size, block.bytes_read)


def _pairs(block: Block, bad: list[BadLine]) -> Iterator[tuple[str, str]]:
    """Yield the text of all pairs. A bad line is an empty pair: no line is lost."""
    for index in range(len(block.source)):
        try:
            yield block.pair(index)
        except BadLine as problem:
            bad.append(problem)
            yield "", ""


@functools.lru_cache(1)
def _aligner(job: Job) -> WindowedAligner:
    """Load a small aligner or a whole system."""
    gc.set_threshold(_OBJECTS)
    options, folder = job.options, job.model.path
    text = {"raw": options.raw, "reverse": options.reverse}
    if not job.model.is_small_aligner:
        if options.fast:
            raise WeftError(f"{folder}: --fast is for small aligners; choose a --method of this whole system")
        from weft.model.torch_aligner import system_aligner

        method, merge, threshold = options.method, options.merge, options.threshold
        return system_aligner(folder, job.device, method, merge=merge, threshold=threshold, **text)
    if options.method:
        raise WeftError(f"{folder}: a small aligner has one method; leave out --method")
    merge, threshold, fast = options.merge or "mean", options.threshold, options.fast
    if job.device == "cuda":
        from weft.model.torch_aligner import scorer_aligner

        return scorer_aligner(job.model, job.device, fast, merge=merge, threshold=threshold, **text)
    from weft.align.onnx_aligner import Aligner

    return Aligner(job.model, cores=job.threads, fast=fast, merge=merge, threshold=threshold, **text)
