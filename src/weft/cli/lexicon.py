"""``weft lexicon``: parallel text in, word probabilities and a dictionary out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import tyro

from weft.cli.aligning import (
    BLOCK_LINES,
    Answer,
    Warnings,
    answers,
    answers_in_order,
    long_lines_of,
    pairs_of,
    plan_aligner,
)
from weft.cli.options import choice
from weft.errors import BadLine, WeftError
from weft.links import parse_links
from weft.progress import Progress, say
from weft.text.reading import Block, Corpus, Form, check_stdin, open_lines
from weft.text.words import Sentence
from weft.workers import available_cores

if TYPE_CHECKING:
    from weft.align.alignment import Alignment
    from weft.align.windowed import WindowedAligner
    from weft.apply.block_counts import BlockCounts
    from weft.apply.lexicon_folder import LexiconSettings


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-"
    """Parallel text in any form that weft align reads; - is stdin."""
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = ""
    """The target side, if the file has only the source side."""
    _: KW_ONLY
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    """Folder for the lexicon."""
    formats: tuple[Literal["lex", "dictionary", "tbx"], ...] = ("lex", "dictionary")
    """lex.s2t and lex.t2s, as Marian and Moses have them; dictionary.tsv; dictionary.tbx, for translators' tools."""
    languages: Annotated[tuple[str, str] | None, choice("CODE CODE", "the two that there are, source first")] = None
    """Source and target language of a memory (.tmx, .xlf, .po, .zip) and of TBX, such as de en."""
    longest: int = 4
    """How many words the phrases of a dictionary may have; 1: single words only."""
    least_count: int = 1
    """How often single words must be translations of each other to be in a dictionary."""
    least_phrase_count: int = 3
    """The same for phrases of several words."""
    least_strength: float = 0.01
    """How strong an entry must be, from 0 to 1: p(target | source) times the root of p(source | target)."""
    links: Annotated[str | None, choice("FILE", "the text is aligned")] = None
    """Links of the text, a line for each pair, such as weft align writes."""
    model: Annotated[str | None, choice("NAME", "multi")] = None
    """A name that `weft models` lists, or a folder."""
    input_format: Form = "auto"
    """Columns or jsonl; auto: as the file's name says, and columns for stdin."""
    raw: bool = False
    """The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces."""
    threshold: Annotated[float | None, choice("0…1", "what the model says")] = None
    """The probability that a link needs. Higher: fewer and better links."""
    fast: bool = False
    """Use the narrow encoders of a small aligner, if it has them: faster, less accurate."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong without looking at any file."""
        for name, least in (("least_count", 1), ("least_phrase_count", 1), ("least_strength", 0)):
            if not getattr(self, name) >= least:
                raise WeftError(f"--{name.replace('_', '-')} is at least {least}, not {getattr(self, name):g}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise WeftError(f"--threshold is a probability, from 0 to 1, not {self.threshold:g}")
        if self.cores < 0:
            raise WeftError(f"--cores is a number of cores, or 0 for all, not {self.cores}")
        if self.links is not None:
            for name in ("model", "threshold", "fast"):
                if getattr(self, name):
                    raise WeftError(f"--{name} is for aligning; with --links there is nothing to align")
        check_stdin((self.file, self.target, self.links))


class LinkedBlock(NamedTuple):
    """Lines of text and their links."""

    block: Block
    links: list[bytes]
    links_file: str


def lexicon(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Make a lexicon of parallel text: `weft lexicon corpus.tsv -o lexicon`."""
    from weft.apply.dictionaries import Least
    from weft.apply.lexicon_folder import LexiconSettings, check_folder, write_lexicon

    options.check()
    least = Least(options.least_count, options.least_phrase_count, options.least_strength)
    settings = LexiconSettings(options.formats, options.languages, options.longest, options.raw, least)
    check_folder(options.output)
    files = [options.file, options.target] if options.target else [options.file]
    corpus = Corpus.of(files, options.input_format, options.languages or ())
    with Progress() as progress:
        write_lexicon(options.output, _counted(options, corpus, settings, progress), settings, progress)
    say(f"lexicon: {options.output}")


def _counted(options: Options, corpus: Corpus, settings: LexiconSettings, progress: Progress) -> Iterator[BlockCounts]:
    """Yield the counts of all blocks of the text."""
    warnings = Warnings(progress, "it is left out")
    progress.phase("counting", corpus.size(), "B")
    words = settings.counted_words
    if options.links is not None:
        blocks = _with_links(corpus.blocks(BLOCK_LINES["cpu"]), options.links)
        processes = options.cores or available_cores()
        return answers_in_order(partial(_count_linked, words, options.raw), blocks, processes, progress, warnings)
    plan = plan_aligner(options.model, options.cores, raw=options.raw, threshold=options.threshold, fast=options.fast)
    return answers(partial(_count, words), corpus.blocks(BLOCK_LINES[plan.device]), plan, progress, warnings)


def _with_links(blocks: Iterable[Block], name: str) -> Iterator[LinkedBlock]:
    """Yield blocks with their links. Raises WeftError if there are not as many lines of links."""
    shown = "stdin" if name == "-" else name
    with open_lines(name) as lines:
        for block in blocks:
            links = list(itertools.islice(lines, len(block.source)))
            if len(links) < len(block.source):
                last = block.first_line + len(links) - 1
                raise WeftError(f"{shown}: has {last:,} lines, but {block.file} more; there must be one for each pair")
            yield LinkedBlock(block, links, shown)
        if next(lines, None) is not None:
            raise WeftError(f"{shown}: has more lines than the text; there must be one for each pair")


def _count(longest: int, aligner: WindowedAligner, block: Block) -> Answer[BlockCounts]:
    """Align a block and count."""
    from weft.apply.block_counts import count_block

    bad: list[BadLine] = []
    alignments = aligner.stream(pairs_of(block, bad), long_lines_of(block, bad), len(block.source))
    return Answer(count_block(alignments, block.first_line, longest), bad, block.bytes_read)


def _count_linked(longest: int, raw: bool, linked: LinkedBlock) -> Answer[BlockCounts]:
    """Count in a block that has links."""
    from weft.apply.block_counts import count_block

    block, bad = linked.block, list[BadLine]()
    return Answer(count_block(_alignments(linked, raw, bad), block.first_line, longest), bad, block.bytes_read)


def _alignments(linked: LinkedBlock, raw: bool, bad: list[BadLine]) -> Iterator[Alignment]:
    """Yield the alignments of a block that has links; lines that go to ``bad`` have none."""
    from weft.align.alignment import Alignment

    left_out = 0
    for number, pair in enumerate(pairs_of(linked.block, bad)):
        source, target = (Sentence.from_text(side, raw) for side in pair)
        found = parse_links(linked.links[number], linked.links_file, linked.block.first_line + number)
        if len(bad) > left_out:
            left_out = len(bad)
            yield Alignment(source, target)
        else:
            found.check(len(source), len(target))
            yield Alignment(source, target, dict.fromkeys(found.possible, 1.0))
