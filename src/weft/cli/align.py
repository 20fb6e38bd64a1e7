"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import contextlib
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
from weft.align.alignment import Alignment
from weft.align.formats import FORMATS, SOURCE_WORDS, TARGET_WORDS, Format, FormatName
from weft.apply.tokens import with_diagonal
from weft.cli.options import choice
from weft.cli.output import is_finished, open_output
from weft.cli.token_choice import TokenChoice, TokenLines, with_token_lines
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.storage import checksum_of
from weft.text.reading import Block, Corpus, Form
from weft.text.words import Sentence
from weft.workers import available_cores, map_in_order

if TYPE_CHECKING:
    from weft.align.model_folder import ModelFolder
    from weft.align.windowed import WindowedAligner

Device = Literal["cpu", "cuda"]
IfEmpty = Literal["blank", "diagonal", "drop"]

_MOST_PROCESSES = 16  # each has a model in memory
_MOST_WARNINGS = 10
_OBJECTS = 100_000  # new ones after which Python looks for cycles: a block makes many, hardly any of them in cycles
_BLOCK_LINES: dict[Device, int] = {"cpu": 2_000, "cuda": 10_000}  # that a process aligns at a time


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """Lines of source TAB target or source ||| target, words between spaces; .jsonl, .parquet, or the source side
    alone; also .gz, .xz and .zst; - is stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = ""
    """The target side, if the file has only the source side."""
    _: KW_ONLY
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder: of a small aligner (run/aligner) or a system (run/model)."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the file's name says, and columns for stdin."""
    format: FormatName = "pharaoh"
    """`0-0 1-2`, `0-0:0.97 1-2:0.55`, `das|the`, A3 lines, offsets and all; html and grid are to look at."""
    raw: bool = False
    """The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces."""
    tokens: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="KIND[=FILE]")] = ()
    """Links between your own tokens of raw text: spm:MODEL, spaces, icu:LOCALE, moses:LANGUAGE, files:SOURCE,TARGET; if
    the sides differ, two with a comma between them. =LINKS or =LINKS,SOURCE,TARGET names files for the links, and for
    the tokens. May be repeated."""
    if_empty: IfEmpty = "blank"
    """What a pair without links gets: a blank line, links along the diagonal, or no line; then FILE.dropped has the
    numbers of such lines, or stderr if there is no file."""
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
    """Write into this file instead of stdout; until it is finished it is called FILE.partial."""
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
        files = [output.file for output in self.outputs]
        if len(set(files)) < len(files):
            raise WeftError(
                "--tokens: give each a file of its own, as in --tokens spaces=words.aln --tokens icu=icu.aln"
            )
        if self.output is not None and self.output not in files:
            raise WeftError(f"--output {self.output}: each --tokens names a file already; leave it out")
        if self.resume and (len(files) > 1 or files == [None] or self.format not in lines):
            raise WeftError(f"--resume needs --output, one file, and a format of one line a pair: {', '.join(lines)}")
        if self.resume and self.if_empty == "drop":
            raise WeftError("--resume cannot tell where to go on if lines are left out; leave out --if-empty drop")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise WeftError(f"--threshold is a probability, from 0 to 1, not {self.threshold:g}")
        if self.cores < 0:
            raise WeftError(f"--cores is a number of cores, or 0 for all, not {self.cores}")

    @functools.cached_property
    def choices(self) -> list[TokenChoice]:
        """What --tokens asks for."""
        return [TokenChoice.parse(text) for text in self.tokens]

    @property
    def inputs(self) -> list[str]:
        return [self.file, self.target] if self.target else [self.file]

    @property
    def files_read(self) -> list[str]:
        """The text, and what --tokens needs."""
        return [*self.inputs, *(name for one in self.choices for name in one.inputs)]

    @property
    def outputs(self) -> list[Output]:
        """What is written: the links and, if wanted, the tokens of each --tokens, or the links between words."""
        forms = (FORMATS[self.format], SOURCE_WORDS, TARGET_WORDS)
        return [
            Output(file, view, form)
            for view, files in enumerate([one.outputs or (self.output,) for one in self.choices] or [(self.output,)])
            for file, form in zip(files, forms, strict=False)
        ]


class Output(NamedTuple):
    """A file that is written."""

    file: str | None  # None: stdout
    view: int  # which of the --tokens it is about
    form: Format


class Job(NamedTuple):
    """What a worker process needs to align blocks."""

    options: Options
    model: ModelFolder
    device: Device
    threads: int


class Answer(NamedTuple):
    """The output for a block of lines."""

    texts: list[str]  # for each file that is written
    bad: list[BadLine]  # lines that could not be aligned
    dropped: list[int]  # numbers of lines that are left out
    pairs: int
    bytes_read: int


def align(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Align sentence pairs, a line of links for each line: `weft align corpus.tsv > links.txt`."""
    from weft.align.model_folder import open_model

    options.check()
    file, target = options.file, options.target
    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,), form=options.input_format)
    model = open_model(options.model)
    device = _device(options.device, model)
    for one in options.choices:
        one.check()
    outputs = options.outputs
    first = outputs[0].file
    if options.resume and first is not None and is_finished(first):
        say(f"weft: {first}: already finished; --resume leaves it as it is")
        return
    is_visible = all(output.file is not None for output in outputs) or not sys.stdout.isatty()
    can_resume = len(outputs) == 1 and outputs[0].form.is_line and options.if_empty != "drop"
    made_by = partial(_made_by, options, model.path, device) if can_resume else None
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress(visible=is_visible))
        opened = [
            stack.enter_context(open_output(output.file, options.files_read, made_by, options.resume))
            for output in outputs
        ]
        files, done = [file for file, _ in opened], opened[0][1]
        list_dropped = None
        if options.if_empty == "drop" and first is not None:
            list_dropped, _ = stack.enter_context(open_output(f"{first}.dropped", options.files_read))
        progress.phase("aligning", corpus.size(), "B")
        blocks = corpus.blocks(1 if options.line_buffered else _BLOCK_LINES[device])
        if done:
            blocks = _without_first(blocks, done, f"{first}.partial")
        cores, workers = options.cores or available_cores(), 1
        if model.is_small_aligner and not options.line_buffered:  # a whole system is too large to be in memory twice
            first_two = list(itertools.islice(blocks, 2))
            blocks = itertools.chain(first_two, blocks)
            workers = min(cores, _MOST_PROCESSES) if len(first_two) == 2 else 1
        job = Job(options, model, device, cores // workers)
        warnings = _Warnings(options, progress)
        began, pairs = time.perf_counter(), 0
        for file, output in zip(files, outputs, strict=True):
            file.write(output.form.start)
        for answer in map_in_order(partial(_answer, job), with_token_lines(blocks, options.choices), workers):
            warnings.add(answer)
            for file, text in zip(files, answer.texts, strict=True):
                file.write(text)
                if options.line_buffered:
                    file.flush()
            for number in answer.dropped:
                if list_dropped is not None:
                    list_dropped.write(f"{number}\n")
                else:
                    progress.say(f"weft: line {number} is left out: it has no links")
            pairs += answer.pairs
            rate = pairs / (time.perf_counter() - began)
            progress.advance(answer.bytes_read, pairs=f"{pairs:,}", speed=f"{rate:,.0f} pairs/s")
        warnings.end()
        for file, output in zip(files, outputs, strict=True):
            file.write(output.form.end)


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
    names = ("input_format", "format", "raw", "if_empty", "reverse", "method", "merge", "threshold", "fast")
    weights = [path for path in sorted(model.iterdir()) if path.is_file() and path.name != "README.md"]
    text = [checksum_of(Path(name))[:16] if Path(name).is_file() else "no file" for name in options.files_read]
    return {
        **{name: getattr(options, name) for name in names},
        "tokens": list(options.tokens),
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
        self._gap = "no line" if options.if_empty == "drop" else FORMATS[options.format].gap
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


def _answer(job: Job, task: tuple[Block, TokenLines]) -> Answer:
    """Align a block; the aligner stays in memory for the next one."""
    from weft.align.windowed import describe_too_long

    block, token_lines = task
    bad: dict[int, BadLine] = {}  # by index

    def on_bad(index: int, problem: str) -> None:
        bad.setdefault(index, BadLine(block.file, block.first_line + index, problem))

    def on_long(index: int, pieces: int) -> None:
        on_bad(index, describe_too_long(pieces))

    options, size = job.options, len(block.source)
    outputs, dropped = options.outputs, []
    columns: list[list[str]] = [[] for _ in outputs]
    for index, alignment in enumerate(_aligner(job).stream(_pairs(block, bad), on_long, size)):
        number = block.first_line + index
        try:
            views = [one.view(alignment, token_lines, number) for one in options.choices] or [alignment]
        except WeftError as problem:
            on_bad(index, str(problem))
            views = [Alignment(Sentence(""), Sentence(""))] * len(options.choices)
        if options.if_empty == "drop" and not all(view.probabilities for view in views):
            dropped.append(number)
            continue
        if options.if_empty == "diagonal":
            views = [view if view.probabilities else with_diagonal(view) for view in views]
        for column, output in zip(columns, outputs, strict=True):
            column.append(output.form.one(views[output.view], number))
    problems = [bad[index] for index in sorted(bad)]
    return Answer(["".join(column) for column in columns], problems, dropped, size, block.bytes_read)


def _pairs(block: Block, bad: dict[int, BadLine]) -> Iterator[tuple[str, str]]:
    """Yield the text of all pairs. A bad line is an empty pair: no line is lost."""
    for index in range(len(block.source)):
        try:
            yield block.pair(index)
        except BadLine as problem:
            bad[index] = problem
            yield "", ""


@functools.lru_cache(1)
def _aligner(job: Job) -> WindowedAligner:
    """Load a small aligner or a whole system."""
    gc.set_threshold(_OBJECTS)
    options, folder = job.options, job.model.path
    text = {"raw": options.raw or bool(options.tokens), "reverse": options.reverse}
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
