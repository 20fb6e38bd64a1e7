"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

import weft
from weft.align.formats import FORMATS, FormatName
from weft.cli.aligning import (
    BLOCK_LINES,
    AlignerPlan,
    Answer,
    Device,
    Warnings,
    answers,
    long_lines_of,
    pairs_of,
    plan_aligner,
)
from weft.cli.options import choice
from weft.cli.output import is_finished, open_output
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.storage import checksum_of
from weft.text.reading import Block, Corpus, Form

if TYPE_CHECKING:
    from weft.align.windowed import WindowedAligner


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
        if self.resume and (self.output is None or self.format not in lines):
            raise WeftError(f"--resume needs --output and a format of one line a pair: {', '.join(lines)}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise WeftError(f"--threshold is a probability, from 0 to 1, not {self.threshold:g}")

    @property
    def inputs(self) -> list[str]:
        return [self.file, self.target] if self.target else [self.file]


def align(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Align sentence pairs, a line of links for each line: `weft align corpus.tsv > links.txt`."""
    options.check()
    file, target = options.file, options.target
    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,), form=options.input_format)
    plan = plan_aligner(
        options.model,
        options.cores,
        options.device,
        raw=options.raw,
        reverse=options.reverse,
        method=options.method,
        merge=options.merge,
        threshold=options.threshold,
        fast=options.fast,
    )
    if options.resume and options.output is not None and is_finished(options.output):
        say(f"weft: {options.output}: already finished; --resume leaves it as it is")
        return
    form = FORMATS[options.format]
    made_by = partial(_made_by, options, plan) if form.is_line else None
    with (
        Progress(visible=options.output is not None or not sys.stdout.isatty()) as progress,
        open_output(options.output, options.inputs, made_by, options.resume) as (out, done),
    ):
        progress.phase("aligning", corpus.size(), "B")
        blocks = corpus.blocks(1 if options.line_buffered else BLOCK_LINES[plan.device])
        if done:
            blocks = _without_first(blocks, done, f"{options.output}.partial")
        warnings = Warnings(progress, f"the output has {form.gap} for it", options.strict)
        work = partial(_answer, options.format)
        out.write(form.start)
        for lines in answers(work, blocks, plan, progress, warnings, options.line_buffered):
            out.writelines(lines)
            if options.line_buffered:
                out.flush()
        out.write(form.end)


def _made_by(options: Options, plan: AlignerPlan) -> dict[str, Any]:
    """Return all that the links depend on, to compare before a file is resumed."""
    names = ("input_format", "format", "raw", "reverse", "method", "merge", "threshold", "fast")
    weights = [path for path in sorted(plan.model.path.iterdir()) if path.is_file() and path.name != "README.md"]
    text = [checksum_of(Path(name))[:16] if Path(name).is_file() else "no file" for name in options.inputs]
    return {
        **{name: getattr(options, name) for name in names},
        "text": text,
        "model": [checksum_of(path)[:16] for path in weights],
        "device": plan.device,
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


def _answer(form: FormatName, aligner: WindowedAligner, block: Block) -> Answer:
    """Align a block of lines."""
    bad: list[BadLine] = []
    size, one = len(block.source), FORMATS[form].one
    alignments = aligner.stream(pairs_of(block, bad), long_lines_of(block, bad), size)
    lines = [one(alignment, number) for number, alignment in enumerate(alignments, block.first_line)]
    return Answer(lines, bad, block.bytes_read)
