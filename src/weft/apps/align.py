"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, Protocol, TextIO

from weft.align.aligner import Aligner, is_small_aligner
from weft.align.alignment import Alignment
from weft.align.formats import Format, formatted
from weft.align.shipped import find_model
from weft.apps.grid import terminal_grid
from weft.apps.picture import Panel, Picture
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress, say
from weft.text.corpus import Block, Corpus
from weft.text.pairs import OnLong, describe_too_long

Form = Format | Literal["grid"]
TextPair = tuple[str, str]
_LINE_BY_LINE = ("pharaoh", "probabilities", "words", "jsonl")
_BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}


class AnyAligner(Protocol):
    def align(self, pairs: Iterable[TextPair], on_long: OnLong, ahead: int = ...) -> Iterator[Alignment]: ...


def align_file(
    model: str,
    corpus: Corpus,
    form: Form,
    raw: bool,
    reverse: bool,
    method: Method | None,
    merge: Merge | None,
    threshold: float | None,
    strict: bool,
    output: Path | None,
    resume: bool,
    line_buffered: bool,
) -> None:
    """Write the links of sentence pairs, in their order."""
    if resume and (output is None or form not in _LINE_BY_LINE):
        raise WeftError(f"--resume needs --output and a format of one line a pair: {', '.join(_LINE_BY_LINE)}")
    if threshold is not None and not 0 <= threshold <= 1:
        raise WeftError(f"--threshold is a probability, from 0 to 1, not {threshold:g}")
    if resume and output is not None and output.exists() and not _partial(output).exists():
        say(f"{output}: already finished")
        return
    aligner = _load(find_model(model), raw, method, merge, threshold)
    file = (corpus.files or corpus.source)[0]
    on_screen = output is None and sys.stdout.isatty()
    with Progress(visible=not on_screen) as progress, _opened(output, resume) as (out, done):
        progress.phase("aligning", corpus.size(), "B")

        def on_bad(bad: BadLine) -> None:
            problem = f"{bad.file}:{bad.line}: {bad.problem}"
            if strict:
                raise WeftError(problem)
            progress.say(f"weft: {problem}; its links are an empty line")

        def on_long(number: int, pieces: int) -> None:
            on_bad(BadLine("stdin" if file == "-" else file, done + number + 1, describe_too_long(pieces)))

        ahead = {"ahead": 1} if line_buffered else {}
        blocks = corpus.blocks(1) if line_buffered else corpus.blocks()
        alignments = aligner.align(_pairs(blocks, done, reverse, on_bad, progress), on_long, **ahead)
        if reverse:
            alignments = (alignment.reversed() for alignment in alignments)
        for text in _grids(alignments) if form == "grid" else formatted(alignments, form):
            out.write(text)
            if line_buffered:
                out.flush()


@contextlib.contextmanager
def _opened(output: Path | None, resume: bool) -> Iterator[tuple[TextIO, int]]:
    """Where text goes, and how many lines of it are there already.

    A file gets its name when it is finished; until then it is called .partial, and --resume goes on with that.
    """
    if output is None:
        yield sys.stdout, 0
        return
    partial = _partial(output)
    try:
        done = _whole_lines(partial) if resume and partial.exists() else 0
        with partial.open("a" if done else "w", encoding="utf-8", newline="\n") as file:
            yield file, done
        partial.replace(output)
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


def _grids(alignments: Iterable[Alignment]) -> Iterator[str]:
    """Matrices for the terminal."""
    for one in alignments:
        yield terminal_grid(Picture(one.source.words, one.target.words, (Panel("", one.links),))) + "\n\n"


def _load(model: Path, raw: bool, method: Method | None, merge: Merge | None, threshold: float | None) -> AnyAligner:
    """A small aligner, or a whole system with what suits it best where nothing is said."""
    if is_small_aligner(model):
        if method:
            raise WeftError(f"{model}: a small aligner has one method; leave out --method")
        return Aligner(model, raw=raw, merge=merge or "mean", threshold=threshold)
    try:
        import torch
    except ImportError:
        raise WeftError(f"{model}: a whole system needs torch: pip install 'weft[train]'") from None

    from weft.model.aligner import SystemAligner
    from weft.model.system import AlignmentSystem

    system = AlignmentSystem.load(model, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    method = method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{model}: has no {method} layers; its methods are {', '.join(system.methods)}")
    if threshold is None:
        threshold = system.guided.threshold if system.guided is not None else 0.0
    return SystemAligner(system, method, merge or _BEST_MERGE[method], threshold, raw)


def _pairs(
    blocks: Iterable[Block], skip: int, reverse: bool, on_bad: Callable[[BadLine], None], progress: Progress
) -> Iterator[TextPair]:
    """The text of all pairs but the first, the model's source language in front.

    A bad line is an empty pair: no line is lost.
    """
    for block in blocks:
        first = min(skip, len(block.source))
        skip -= first
        for index in range(first, len(block.source)):
            try:
                source, target = block.pair(index)
            except BadLine as bad:
                on_bad(bad)
                source, target = "", ""
            yield (target, source) if reverse else (source, target)
        progress.advance(block.bytes_read)
