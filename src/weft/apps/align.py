"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, Protocol

from weft.align.aligner import Aligner, is_small_aligner
from weft.align.alignment import Alignment
from weft.align.formats import Format, formatted
from weft.align.shipped import find_model
from weft.apps.grid import terminal_grid
from weft.apps.picture import Panel, Picture
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.text.corpus import Corpus
from weft.text.pairs import OnLong, describe_too_long

Form = Format | Literal["grid"]
TextPair = tuple[str, str]
_BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}


class AnyAligner(Protocol):
    def align(self, pairs: Iterable[TextPair], on_long: OnLong) -> Iterator[Alignment]: ...


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
) -> None:
    """Print the links of sentence pairs, in their order."""
    aligner = _load(find_model(model), raw, method, merge, threshold)
    file = (corpus.files or corpus.source)[0]
    with Progress(visible=not sys.stdout.isatty()) as progress:

        def on_bad(bad: BadLine) -> None:
            problem = f"{bad.file}:{bad.line}: {bad.problem}"
            if strict:
                raise WeftError(problem)
            progress.say(f"weft: {problem}; its links are an empty line")

        def on_long(number: int, pieces: int) -> None:
            on_bad(BadLine("stdin" if file == "-" else file, number + 1, describe_too_long(pieces)))

        alignments = aligner.align(_pairs(corpus, reverse, on_bad, progress), on_long)
        if reverse:
            alignments = (alignment.reversed() for alignment in alignments)
        sys.stdout.writelines(_grids(alignments) if form == "grid" else formatted(alignments, form))


def _grids(alignments: Iterable[Alignment]) -> Iterator[str]:
    """Matrices for the terminal."""
    for one in alignments:
        yield terminal_grid(Picture(one.source.words, one.target.words, (Panel("", one.links),))) + "\n\n"


def _load(model: Path, raw: bool, method: Method | None, merge: Merge | None, threshold: float | None) -> AnyAligner:
    """A small aligner, or a whole system with what suits it best where nothing is said."""
    if is_small_aligner(model):
        if method or merge:
            raise WeftError(f"{model}: a small aligner has one method; leave out --method and --merge")
        aligner = Aligner(model, raw=raw)
        aligner.threshold = aligner.threshold if threshold is None else threshold
        return aligner
    import torch

    from weft.model.aligner import SystemAligner
    from weft.model.system import AlignmentSystem

    system = AlignmentSystem.load(model, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    method = method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{model}: has no {method} layers; its methods are {', '.join(system.methods)}")
    if threshold is None:
        threshold = system.guided.threshold if system.guided is not None else 0.0
    return SystemAligner(system, method, merge or _BEST_MERGE[method], threshold, raw)


def _pairs(corpus: Corpus, reverse: bool, on_bad: Callable[[BadLine], None], progress: Progress) -> Iterator[TextPair]:
    """The text of all pairs, the model's source language first; a bad line is an empty pair: no line is lost."""
    progress.phase("aligning", corpus.size(), "B")
    for block in corpus.blocks():
        for index in range(len(block.source)):
            try:
                source, target = block.pair(index)
            except BadLine as bad:
                on_bad(bad)
                source, target = "", ""
            yield (target, source) if reverse else (source, target)
        progress.advance(block.bytes_read)
