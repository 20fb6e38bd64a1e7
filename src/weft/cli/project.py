"""``weft project``: sentences with labels and their translations in, the translations with these labels out."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from weft.cli.aligning import Answer, answers, plan_aligner
from weft.cli.options import Output, choice
from weft.cli.output import open_output
from weft.errors import WeftError, remedy_for_bad_lines
from weft.progress import Progress
from weft.text.reading import kind_of

if TYPE_CHECKING:
    from weft.align.windowed import WindowedAligner
    from weft.apply.conllu import ConlluSentence
    from weft.apply.label_file import Block
    from weft.apply.span_objects import SpanObject
    from weft.apply.tagged_tokens import TaggedTokens

FormName = Literal["auto", "iob2", "conllu", "jsonl"]
_MOST_NAMED = 10  # labels without a counterpart that are named on stderr
_MOST_CHARACTERS = 200  # of such a label that a report has
_COLUMNS = "UPOS,DEPREL,Entity,NER"


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The sentences with their labels: tokens with IOB tags, CoNLL-U, or JSONL with spans; also .gz, .xz and .zst; - is
    stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = ""
    """The translations, a line each; not needed for JSONL that has both sides."""
    _: KW_ONLY
    format: FormName = "auto"
    """Of the file; auto: by its ending, .conllu or .jsonl, and otherwise iob2."""
    raw: bool = False
    """The translations are running text: find their tokens. Otherwise tokens stand between spaces; JSONL is always
    running text."""
    columns: Annotated[str, tyro.conf.arg(metavar="NAMES")] = _COLUMNS
    """Of CoNLL-U: which columns to project, word by word, and which attributes of MISC, which mark spans."""
    strength: Annotated[float | None, choice("0…1", "0.2")] = None
    """How sure a place must be. Higher: fewer labels, and fewer wrong ones."""
    report: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write all labels that could not be projected into this file, as JSONL."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder."""
    reverse: bool = False
    """The labelled side is the model's target language."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    output: Output = None
    """Write into this file instead of stdout."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        from weft.apply.conllu import check_columns

        if self.strength is not None and not 0 <= self.strength <= 1:
            raise WeftError(f"--strength is from 0 to 1, not {self.strength:g}")
        if not self.target and self.form_name != "jsonl":
            raise WeftError("give a second file with the translations, a line for each sentence of the first")
        if self.output is not None and self.output == self.report:
            raise WeftError("--output and --report are the same file")
        check_columns(self.column_names)

    @property
    def form_name(self) -> str:
        if self.format != "auto":
            return self.format
        kind = kind_of(self.file)
        return kind[1:] if kind in {".conllu", ".jsonl"} else "iob2"

    @property
    def form(self) -> type[TaggedTokens | ConlluSentence | SpanObject]:
        from weft.apply.conllu import ConlluSentence
        from weft.apply.span_objects import SpanObject
        from weft.apply.tagged_tokens import TaggedTokens

        forms = {"iob2": TaggedTokens, "conllu": ConlluSentence, "jsonl": SpanObject}
        return forms[self.form_name]

    @property
    def column_names(self) -> list[str]:
        return [name.strip() for name in self.columns.split(",") if name.strip()]

    @property
    def inputs(self) -> list[str]:
        return [self.file, self.target] if self.target else [self.file]


@dataclass(frozen=True)
class ProjectedBlock:
    """The output for a block of sentences."""

    text: str
    missing: list[dict[str, Any]]  # labels that could not be projected
    counts: Counter[str]

    def __len__(self) -> int:
        """Return the number of sentences."""
        return self.counts["sentences"]


def project(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Carry labels over to translations: `weft project news.iob2 news.de --raw > news.de.iob2`."""
    from weft.apply.label_file import read_blocks

    options.check()
    plan = plan_aligner(options.model, options.cores, reverse=options.reverse, fast=options.fast)
    size = sum(Path(name).stat().st_size for name in options.inputs if Path(name).is_file())
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress(visible=options.output is not None or not sys.stdout.isatty()))
        stack.enter_context(remedy_for_bad_lines("correct it, or leave it out on both sides"))
        out, _ = stack.enter_context(open_output(options.output, options.inputs))
        report = stack.enter_context(open_output(options.report, options.inputs))[0] if options.report else None
        progress.phase("projecting", size, "B")
        blocks = read_blocks(options.file, options.target, options.form.has_token)
        counts: Counter[str] = Counter()
        for answer in answers(partial(_project_block, options), blocks, plan, progress):
            out.write(answer.text)
            for number, one in enumerate(answer.missing, counts["missing"]):
                if report is not None:
                    report.write(json.dumps(one, ensure_ascii=False) + "\n")
                if number < _MOST_NAMED:
                    progress.say(_described(one, options.file))
            counts += answer.counts
            counts["missing"] += len(answer.missing)
        progress.say(_summary(counts, report is not None))


def _described(one: dict[str, Any], file: str) -> str:
    label = one["label"] if isinstance(one["label"], str) else json.dumps(one["label"], ensure_ascii=False)
    return f"weft: {file}:{one['line']}: not projected: {label} ({one['layer']}), {one['text']!r:.80}"


def _summary(counts: Counter[str], has_report: bool) -> str:
    text = f"{counts['labels'] - counts['missing']:,} of {counts['labels']:,} labels were projected"
    if counts["words"]:
        text += (
            f"; {counts['tagged words']:,} of {counts['words']:,} words have the columns of the word they are linked to"
        )
    if counts["missing"] > _MOST_NAMED and not has_report:
        text += "; --report FILE lists the others"
    return text


def _project_block(options: Options, aligner: WindowedAligner, block: Block) -> Answer[ProjectedBlock]:
    """Project the labels of a block."""
    from weft.apply.projection import project as projected_labels
    from weft.apply.spans import STRENGTH

    units = list(block.decoded())
    records = [options.form(unit, options.raw, options.column_names) for unit in units]
    strength = STRENGTH if options.strength is None else options.strength
    text: list[str] = []
    missing: list[dict[str, Any]] = []
    counts: Counter[str] = Counter(sentences=len(units))
    results = projected_labels(aligner, (record.labelled for record in records), strength)
    for unit, record, projected in zip(units, records, results, strict=True):
        text.append(record.written(projected))
        labels = record.labelled.labels
        counts["labels"] += len(labels)
        if projected.tags:
            values = next(iter(projected.tags.values()))
            counts["words"] += len(values)
            counts["tagged words"] += sum(value is not None for value in values)
        for label, place in zip(labels, projected.places, strict=True):
            if place is None:
                characters = projected.source.text[label.start : min(label.end, label.start + _MOST_CHARACTERS)]
                missing.append({"line": unit.line, **label._asdict(), "text": characters})
    return Answer(ProjectedBlock("".join(text), missing, counts), [], block.bytes_read)
