"""``weft terms``: are the terms of a glossary translated as agreed?"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

from weft.apply.glossary import VERDICTS, Finding, Glossary, Verdict, read_glossary
from weft.cli.aligning import BLOCK_LINES, Answer, Warnings, answers, long_lines_of, pairs_of, plan_aligner
from weft.cli.options import Output, choice
from weft.cli.output import open_output
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.text.reading import Block, Corpus, Form
from weft.text.words import Span

if TYPE_CHECKING:
    from weft.align.alignment import Alignment
    from weft.align.windowed import WindowedAligner


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    glossary: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GLOSSARY")]
    """Lines of term TAB translation; several translations have | between them, or a line each."""
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """Parallel text as people write it, in any form that weft align reads; - is stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]", help_behavior_hint="")] = ""
    """The target side, if the file has only the source side."""
    _: KW_ONLY
    inflected: bool = False
    """Find terms in the source in other forms, too: words that begin alike."""
    fail: bool = False
    """Exit with 1 if a term is not translated as agreed; other forms of what was agreed on are fine."""
    format: Literal["tsv", "jsonl"] = "tsv"
    """Of the output."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the file's name says, and columns for stdin."""
    languages: Annotated[tuple[str, str] | None, choice("CODE CODE", "the two that there are, source first")] = None
    """Source and target language of a memory (.tmx, .xlf, .po, .zip), such as de en."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    output: Output = None
    """Write into this file instead of stdout."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    @property
    def inputs(self) -> list[str]:
        return [self.glossary, self.file, *([self.target] if self.target else [])]


def terms(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Check how the terms of a glossary are translated: `weft terms glossary.tsv letters.tsv`."""
    if options.glossary == "-":
        raise WeftError("the glossary must be a file; stdin (-) is for text")
    read_glossary(options.glossary)  # what is wrong with it is found before anything is loaded
    corpus = Corpus.of(options.inputs[1:], options.input_format, options.languages or ())
    plan = plan_aligner(options.model, options.cores, raw=True, fast=options.fast)
    counts: Counter[str] = Counter()
    with (
        Progress(visible=options.output is not None or not sys.stdout.isatty()) as progress,
        open_output(options.output, options.inputs) as (out, _),
    ):
        progress.phase("checking terms", corpus.size(), "B")
        warnings = Warnings(progress, "its terms are not checked")
        work = partial(_answer, options.glossary, options.inflected)
        write = _json_line if options.format == "jsonl" else _table_line
        if options.format == "tsv":
            out.write("\t".join(Row._fields) + "\n")
        for pairs in answers(work, corpus.blocks(BLOCK_LINES[plan.device]), plan, progress, warnings):
            for row in itertools.chain.from_iterable(pairs):
                out.write(write(row))
                counts[row.verdict] += 1
    say(f"terms found: {counts.total():,}; " + ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS))
    wrong = counts["other"] + counts["missing"]
    if options.fail and wrong:
        raise WeftError(f"{wrong:,} of {counts.total():,} terms are not translated as agreed")


class Row(NamedTuple):
    """A term in the text, as it is written into the output."""

    line: int
    verdict: Verdict
    term: str
    agreed: list[str]
    found: str
    source: Span  # of the term, in characters
    target: Span | None


def _table_line(row: Row) -> str:
    spans = ["" if span is None else f"{span[0]}-{span[1]}" for span in (row.source, row.target)]
    found = " ".join(row.found.split())
    return "\t".join([str(row.line), row.verdict, row.term, "|".join(row.agreed), found, *spans]) + "\n"


def _json_line(row: Row) -> str:
    return json.dumps(row._asdict(), ensure_ascii=False) + "\n"


def _answer(glossary: str, inflected: bool, aligner: WindowedAligner, block: Block) -> Answer[list[list[Row]]]:
    """Check the terms of a block; each pair has a list of them."""
    bad: list[BadLine] = []
    alignments = aligner.stream(pairs_of(block, bad), long_lines_of(block, bad), len(block.source))
    check = _opened(glossary, inflected).check
    rows = [
        [_row(number, finding, alignment) for finding in check(alignment)]
        for number, alignment in enumerate(alignments, block.first_line)
    ]
    return Answer(rows, bad, block.bytes_read)


@functools.lru_cache(1)
def _opened(name: str, inflected: bool) -> Glossary:
    """Read a glossary; it stays in memory for the next block."""
    return Glossary(read_glossary(name), inflected)


def _row(line: int, finding: Finding, alignment: Alignment) -> Row:
    term, verdict, source, target = finding
    found = "" if target is None else alignment.target.text[slice(*target)]
    return Row(line, verdict, term.source.text, [one.text for one in term.targets], found, source, target)
