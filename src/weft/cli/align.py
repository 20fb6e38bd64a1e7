"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import contextlib
import functools
import sys
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import tyro

import weft
from weft.align.alignment import Alignment
from weft.align.formats import FORMATS, SOURCE_WORDS, TARGET_WORDS, Format, FormatName
from weft.align.tables import PARQUET
from weft.apply.tokens import with_diagonal
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
from weft.cli.output import is_finished, is_table, open_output, open_table
from weft.cli.token_choice import TokenChoice, TokenLines, with_token_lines
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.storage import checksum_of
from weft.text.reading import ALL_LINES, Block, Corpus, Form, Shard, check_stdin
from weft.text.words import Sentence

if TYPE_CHECKING:
    from weft.align.windowed import WindowedAligner

IfEmpty = Literal["blank", "diagonal", "drop"]


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """Lines of source TAB target or source ||| target, words between spaces; .jsonl, .parquet; .tmx, .xlf, .po or an
    OPUS .zip, mostly with --raw; or the source side alone; also .gz, .xz and .zst; - is stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]", help_behavior_hint="")] = ""
    """The target side, if the file has only the source side."""
    _: KW_ONLY
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder: of a small aligner (run/aligner) or a system (run/model)."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the file's name says, and columns for stdin."""
    languages: Annotated[tuple[str, str] | None, choice("CODE CODE", "the two that there are, source first")] = None
    """Source and target language of a memory (.tmx, .xlf, .po, .zip) or data set, such as de en; en is also en-US."""
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
    exact: bool = False
    """Write the same links on every kind of processor, which are also those of `weft page`, in twice the time."""
    strict: bool = False
    """Stop at a line that cannot be aligned, instead of leaving its links out with a warning."""
    output: Annotated[str | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")] = None
    """Write into this file instead of stdout; until it is finished it is called FILE.partial. One that ends in .gz,
    .xz or .zst is compressed; one that ends in .parquet has a row for each pair, with text, words and links."""
    resume: bool = False
    """Continue FILE.partial of an interrupted command that had the same text, model and options."""
    line_buffered: bool = False
    """Answer each line before the next is read, for programs that wait for it; slower."""
    shard: Annotated[str | None, choice("I/N", "the whole text")] = None
    """Align the I-th of N parts of the text alone: runs of lines, about equally long. All parts, one after the other,
    are what one command would write."""
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
        if self.shard is not None:
            Shard.parse(self.shard)
            if FORMATS[self.format].end:
                raise WeftError(f"--shard: parts of {self.format} cannot be put together; choose another --format")
        self._check_tables([output for output in self.outputs if is_table(output.file)])
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise WeftError(f"--threshold is a probability, from 0 to 1, not {self.threshold:g}")

    def _check_tables(self, tables: list[Output]) -> None:
        """Raise WeftError for what Parquet files cannot do."""
        for name, _, form in tables:
            if form is not PARQUET:
                raise WeftError(f"{name}: has tokens of one side, which are lines of text; choose another name")
            if self.format != "pharaoh":
                raise WeftError(f"{name}: Parquet has columns of its own; leave out --format {self.format}")
            if self.resume or self.line_buffered:
                option = "--resume" if self.resume else "--line-buffered"
                raise WeftError(f"{option}: a Parquet file is complete or not there; smaller ones: --shard")

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
    def needs_numbers(self) -> bool:
        """Whether what is written depends on the numbers of lines."""
        is_numbered = any(not output.form.is_line for output in self.outputs)
        return is_numbered or self.if_empty == "drop" or any(one.kind == "files" for one in self.choices)

    @property
    def outputs(self) -> list[Output]:
        """What is written: the links and, if wanted, the tokens of each --tokens, or the links between words."""
        forms = (FORMATS[self.format], SOURCE_WORDS, TARGET_WORDS)
        return [
            Output(file, view, PARQUET if is_table(file) and form is forms[0] else form)
            for view, files in enumerate([one.outputs or (self.output,) for one in self.choices] or [(self.output,)])
            for file, form in zip(files, forms, strict=False)
        ]


class Output(NamedTuple):
    """A file that is written."""

    file: str | None  # None: stdout
    view: int  # which of the --tokens it is about
    form: Format


class Written(NamedTuple):
    """The output for a block of lines."""

    texts: list[Any]  # for each file that is written, what its format makes of the block
    dropped: list[int]  # numbers of lines that are left out
    pairs: int

    def __len__(self) -> int:
        """Return the number of pairs, written or not."""
        return self.pairs


def align(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Align sentence pairs, a line of links for each line: `weft align corpus.tsv > links.txt`."""
    align_text(options)


def align_text(options: Options, shown_as: str = "") -> int:
    """Align as the command does. Returns the number of pairs; warnings call the text ``shown_as``, if that is given."""
    options.check()
    corpus = Corpus.of(options.inputs, options.input_format, options.languages or ())
    plan = plan_aligner(
        options.model,
        options.cores,
        options.device,
        raw=options.raw or bool(options.tokens),
        reverse=options.reverse,
        method=options.method,
        merge=options.merge,
        threshold=options.threshold,
        fast=options.fast,
        exact=options.exact,
    )
    check_stdin(options.files_read)
    for one in options.choices:
        one.check()
    outputs = options.outputs
    first = outputs[0].file
    if options.resume and first is not None and is_finished(first):
        say(f"weft: {first}: already finished; --resume leaves it as it is")
        return 0
    part = _part(corpus, options.shard)
    lines_before = functools.cache(part.text.lines_before)  # which reads them, so only if a number is asked for
    skipped = lines_before() if options.needs_numbers else 0
    is_visible = all(output.file is not None for output in outputs) or not sys.stdout.isatty()
    can_resume = len(outputs) == 1 and outputs[0].form.is_line and options.if_empty != "drop"
    made_by = partial(_made_by, options, plan, part) if can_resume else None
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress(visible=is_visible))
        files, done = [], 0
        for name, _, _ in outputs:
            if name is not None and is_table(name):
                files.append(stack.enter_context(open_table(name, options.files_read)))
            else:
                file, done = stack.enter_context(open_output(name, options.files_read, made_by, options.resume))
                files.append(file)
        list_dropped = None
        if options.if_empty == "drop" and first is not None:
            list_dropped, _ = stack.enter_context(open_output(f"{first}.dropped", options.files_read))
        progress.phase("aligning", part.size, "B")
        blocks = part.text.blocks(1 if options.line_buffered else BLOCK_LINES[plan.device], part.lines[done:])
        blocks = (replace(block, first_line=block.first_line + skipped) for block in blocks)
        gap = "no line" if options.if_empty == "drop" else FORMATS[options.format].gap
        instead = f"the output has {gap} for it"
        warnings = Warnings(progress, instead, options.strict, lambda: lines_before() - skipped, shown_as)
        pairs = 0
        tasks = with_token_lines(blocks, options.choices, skipped + part.lines.start + done, to_end=part.is_last)
        for file, output in zip(files, outputs, strict=True):
            if start := output.form.start():
                file.write(start)
        for written in answers(partial(_answer, options), tasks, plan, progress, warnings, options.line_buffered):
            pairs += len(written)
            for file, text in zip(files, written.texts, strict=True):
                file.write(text)
                if options.line_buffered:
                    file.flush()
            for number in written.dropped:
                if list_dropped is not None:
                    list_dropped.write(f"{number}\n")
                else:
                    progress.say(f"weft: line {number} is left out: it has no links")
        for file, output in zip(files, outputs, strict=True):
            if output.form.end:
                file.write(output.form.end)
    return pairs


class _Part(NamedTuple):
    """What is aligned of a text."""

    text: Corpus  # or a span of it
    lines: range  # which of its lines, counted from zero
    size: int  # in bytes, roughly
    is_last: bool


def _part(text: Corpus, shard: str | None) -> _Part:
    """Return the text, or the part of it that a shard is."""
    if shard is None:
        return _Part(text, ALL_LINES, text.size(), True)
    parsed = Shard.parse(shard)
    return _Part(*text.cut(parsed), text.size() // parsed.count, parsed.number == parsed.count)


def model_checksums(folder: Path) -> list[str]:
    """Return what tells the weights and settings of a model from those of others."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != "README.md"]
    return [checksum_of(path)[:16] for path in files]


def _made_by(options: Options, plan: AlignerPlan, part: _Part) -> dict[str, Any]:
    """Return all that the links depend on, to compare before a file is resumed."""
    names = ("input_format", "format", "raw", "if_empty", "reverse", "method", "merge", "threshold", "fast", "exact")
    spans = {options.file: part.text.span}
    text = [
        checksum_of(Path(name), spans.get(name))[:16] if Path(name).is_file() else "no file"
        for name in options.files_read
    ]
    return {
        **{name: getattr(options, name) for name in names},
        "tokens": list(options.tokens),
        "shard": options.shard,
        "languages": list(options.languages or ()),
        "text": text,
        "model": model_checksums(plan.model.path),
        "device": plan.device,
        "version of weft": weft.__version__,
    }


def _answer(options: Options, aligner: WindowedAligner, task: tuple[Block, TokenLines]) -> Answer[Written]:
    """Align a block of lines."""
    block, token_lines = task
    bad: list[BadLine] = []
    size, outputs, dropped = len(block.source), options.outputs, []
    columns: list[list[Any]] = [[] for _ in outputs]
    for index, alignment in enumerate(aligner.stream(pairs_of(block, bad), long_lines_of(block, bad), size)):
        number = block.first_line + index
        try:
            views = [one.view(alignment, token_lines, number) for one in options.choices] or [alignment]
        except WeftError as problem:
            line = block.line(index)
            if all(one.line != line for one in bad):
                bad.append(BadLine(block.file, line, str(problem)))
            views = [Alignment(Sentence(""), Sentence(""))] * len(options.choices)
        if options.if_empty == "drop" and not all(view.probabilities for view in views):
            dropped.append(number)
            continue
        if options.if_empty == "diagonal":
            views = [view if view.probabilities else with_diagonal(view) for view in views]
        for column, output in zip(columns, outputs, strict=True):
            column.append(output.form.one(views[output.view], number))
    texts = [output.form.join(column) for column, output in zip(columns, outputs, strict=True)]
    return Answer(Written(texts, dropped, size), bad, block.bytes_read)
