"""``weft transfer``: the inline markup of sources onto their translations, in documents and in lines of text."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

from weft.apply.documents import Document
from weft.apply.html_documents import HtmlTags, read_page
from weft.apply.markup import TagHandling, parse_markup
from weft.apply.xml_documents import read_xml_document
from weft.cli.aligning import BLOCK_LINES, AlignerPlan, Answer, Warnings, answers, pairs_of, plan_aligner
from weft.cli.options import Output, choice
from weft.cli.output import open_output
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.text.reading import Block, Corpus, kind_of, read_text

if TYPE_CHECKING:
    from weft.align.windowed import WindowedAligner

Kind = Literal["lines", "page", "bilingual"]

_KINDS: dict[Kind, str] = {"lines": "lines of text", "page": "HTML pages", "bilingual": "XLIFF and TMX"}
_MEANT_FOR: dict[str, Kind] = {
    "extract": "page",
    "splitting_tags": "page",
    "non_splitting_tags": "page",
    "languages": "bilingual",
    "all": "bilingual",
    "tag_handling": "lines",
}
_SHORT = 10_000  # characters; what has no more has not too many tags


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """XLIFF (.xlf, .xliff), TMX (.tmx), HTML (.html, .htm); or lines of source with markup TAB target without, or
    another form that weft align reads; - is stdin."""
    translation: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TRANSLATION]")] = ""
    """Of an HTML page: what --extract has written, translated line by line. Of lines: the target side, if the file has
    only the source side."""
    _: KW_ONLY
    extract: bool = False
    """Write the text of an HTML page, a segment a line, to be translated."""
    tag_handling: Annotated[TagHandling | None, choice("html,xml,xliff,markdown", "html")] = None
    """What is markup in lines."""
    ignore_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """Elements that are not translated: they are taken as they are, with all that they contain."""
    splitting_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """Elements of a page that are blocks, beside those of HTML: segments begin and end at their tags."""
    non_splitting_tags: Annotated[str, choice("TAG,TAG", "none")] = ""
    """Blocks of HTML that are none here: their tags are inline."""
    languages: Annotated[tuple[str, str] | None, choice("SOURCE TARGET", "as the file says; all targets")] = None
    """Which languages of a TMX file to take, such as en de."""
    all: bool = False
    """Transfer to all targets of a file, also to those that are approved, or have the tags of their source already."""
    placeholders: bool = False
    """What a program fills in, such as {0} or %s, is markup as well, if the translation lacks it."""
    split: bool = False
    """An element whose words are apart in the translation becomes several; otherwise it covers what is between."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder."""
    reverse: bool = False
    """The source is in the model's target language."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    output: Output = None
    """Write into this file instead of stdout."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    @property
    def kind(self) -> Kind:
        """What the file is, by its name."""
        ending = kind_of(self.file)
        if ending in {".html", ".htm"}:
            return "page"
        return "bilingual" if ending in {".xlf", ".xliff", ".tmx"} else "lines"

    @property
    def inputs(self) -> list[str]:
        return [self.file, self.translation] if self.translation else [self.file]

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        for name, kind in _MEANT_FOR.items():
            if getattr(self, name) and kind != self.kind:
                shown = "stdin" if self.file == "-" else self.file
                raise WeftError(f"--{name.replace('_', '-')} is for {_KINDS[kind]}; {shown} is {_KINDS[self.kind]}")
        if self.kind == "bilingual" and self.translation:
            raise WeftError(f"{self.file}: has its targets in it; leave out {self.translation}")
        if self.kind == "page" and self.extract == bool(self.translation):
            raise WeftError(f"{self.file}: write its text with --extract; then give the translation as a second file")


class Way(NamedTuple):
    """How markup is transferred."""

    handling: TagHandling
    ignore_tags: tuple[str, ...]
    split: bool
    placeholders: bool

    def targets(
        self,
        aligner: WindowedAligner,
        pairs: Iterable[tuple[str, str]],
        place_of: Callable[[int], str],
        notes: list[str],
    ) -> Iterator[str]:
        """Yield the target of each pair with the markup of its source.

        What is too long to be aligned goes to ``notes``, with the place of the pair of that index.
        """
        from weft.align.windowed import describe_too_long
        from weft.apply.markup_transfer import transfer

        def on_long(index: int, pieces: int) -> None:
            notes.append(f"{place_of(index)}: {describe_too_long(pieces)}; its tags are placed by length")

        options = {"ignore_tags": self.ignore_tags, "split": self.split, "placeholders": self.placeholders}
        return transfer(aligner, pairs, self.handling, **options, on_long=on_long)


def transfer(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Give translations the inline markup of their sources: `weft transfer job.xlf > tagged.xlf`."""
    options.check()
    ignored, how = _names(options.ignore_tags), (options.split, options.placeholders)
    if options.kind == "lines":
        _transfer_lines(options, Way(options.tag_handling or "html", ignored, *how))
    elif options.kind == "bilingual":
        document = read_xml_document(options.file, options.languages, options.all, options.placeholders)
        _transfer_document(options, document, Way("xliff", ignored, *how))
    else:
        tags = HtmlTags(ignored, _names(options.splitting_tags), _names(options.non_splitting_tags))
        page = read_page(options.file, tags)
        if options.extract:
            with open_output(options.output, options.inputs) as (out, _):
                out.writelines(f"{line}\n" for line in page.lines())
        else:
            lines = list(read_text(options.translation))
            document = page.translated(lines, options.translation, options.placeholders)
            _transfer_document(options, document, Way("html", tuple(page.ignore_tags), *how))


def _names(tags: str) -> tuple[str, ...]:
    return tuple(tags.replace(",", " ").split())


def _plan(options: Options) -> AlignerPlan:
    return plan_aligner(options.model, options.cores, reverse=options.reverse, fast=options.fast)


def _transfer_document(options: Options, document: Document, way: Way) -> None:
    """Write a document with the markup of its sources in its targets."""
    plan = _plan(options)
    with Progress() as progress, open_output(options.output, options.inputs) as (out, _):
        progress.phase("transferring", len(document.segments), "pairs")
        rows = zip((segment.place for segment in document.segments), document.pairs(), strict=True)
        parts = iter(lambda: list(itertools.islice(rows, BLOCK_LINES[plan.device])), [])
        found = answers(partial(_answer_part, way), parts, plan, progress, Warnings(progress))
        out.buffer.write(document.with_targets(itertools.chain.from_iterable(found)))


def _answer_part(way: Way, aligner: WindowedAligner, rows: list[tuple[str, tuple[str, str]]]) -> Answer:
    """Answer pairs, each of which comes after its place in the document."""
    notes: list[str] = []
    pairs = [pair for _, pair in rows]
    return Answer(list(way.targets(aligner, pairs, lambda index: rows[index][0], notes)), [], len(pairs), notes)


def _transfer_lines(options: Options, way: Way) -> None:
    """Write a line for each pair of lines: its target, with the markup of its source."""
    corpus = Corpus.of(options.inputs)
    plan = _plan(options)
    with (
        Progress(visible=options.output is not None or not sys.stdout.isatty()) as progress,
        open_output(options.output, options.inputs) as (out, _),
    ):
        progress.phase("transferring", corpus.size(), "B")
        warnings = Warnings(progress, "the output has an empty line for it")
        blocks = corpus.blocks(BLOCK_LINES[plan.device])
        for lines in answers(partial(_answer_block, way), blocks, plan, progress, warnings):
            out.writelines(lines)


def _answer_block(way: Way, aligner: WindowedAligner, block: Block) -> Answer:
    bad, notes = list[BadLine](), list[str]()
    pairs = _usable_pairs(way, block, bad)
    targets = way.targets(aligner, pairs, lambda index: f"{block.file}:{block.line(index)}", notes)
    return Answer([f"{target}\n" for target in targets], bad, block.bytes_read, notes)


def _usable_pairs(way: Way, block: Block, bad: list[BadLine]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a block; those that cannot be used go to ``bad`` and are empty."""
    for index, pair in enumerate(pairs_of(block, bad)):
        try:
            if "\n" in pair[1]:
                raise WeftError("a target with a line break, but the output has one line for it")
            for side in pair:
                if len(side) > _SHORT:
                    parse_markup(side, way.handling, way.ignore_tags)
            yield pair
        except WeftError as problem:
            bad.append(BadLine(block.file, block.line(index), str(problem)))
            yield "", ""
