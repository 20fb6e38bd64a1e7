"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, Protocol

from weft.align.aligner import Aligner, is_small_aligner
from weft.align.shipped import find_model
from weft.apps.grid import terminal_grid
from weft.apps.picture import Panel, Picture
from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.text.corpus import Block, Corpus
from weft.text.links import Links, format_links
from weft.text.pairs import MOST_PIECES, WordPair
from weft.text.subwords import Subwords
from weft.text.words import split_words

Form = Literal["pharaoh", "grid"]
_BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}


class AnyAligner(Protocol):
    subwords: Subwords

    def align(self, pairs: Iterable[WordPair]) -> Iterator[Links]: ...


def align_file(
    model: str,
    file: str,
    form: Form,
    reverse: bool,
    method: Method | None,
    merge: Merge | None,
    threshold: float | None,
    strict: bool,
) -> None:
    """Print the links of a file of sentence pairs, in its order."""
    aligner = _load(find_model(model), method, merge, threshold)
    with Progress(visible=not sys.stdout.isatty()) as progress:
        given, pairs = itertools.tee(_pairs(aligner.subwords, file, reverse, strict, progress))
        for (source, target), links in zip(given, aligner.align(pairs), strict=True):
            if reverse:
                source, target, links = target, source, frozenset((j, i) for i, j in links)
            if form == "grid":
                sys.stdout.write(f"{terminal_grid(Picture(source, target, (Panel('', links),)))}\n\n")
            else:
                sys.stdout.write(f"{format_links(links)}\n")


def _load(model: Path, method: Method | None, merge: Merge | None, threshold: float | None) -> AnyAligner:
    """A small aligner, or a whole system with what suits it best where nothing is said."""
    if is_small_aligner(model):
        if method or merge:
            raise WeftError(f"{model}: a small aligner has one method; leave out --method and --merge")
        aligner = Aligner(model)
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
    return SystemAligner(system, method, merge or _BEST_MERGE[method], threshold)


def _pairs(subwords: Subwords, file: str, reverse: bool, strict: bool, progress: Progress) -> Iterator[WordPair]:
    """The words of all pairs; a bad line is an empty pair and a warning, so that no line is lost."""
    corpus = Corpus(files=(file,))
    progress.phase("aligning", corpus.size(), "B")
    for block in corpus.blocks():
        for index in range(len(block.source)):
            try:
                yield _words(subwords, block, index, reverse)
            except BadLine as bad:
                problem = f"{bad.file}:{bad.line}: {bad.problem}"
                if strict:
                    raise WeftError(problem) from None
                progress.say(f"weft: {problem}; its links are an empty line")
                yield [], []
        progress.advance(block.bytes_read)


def _words(subwords: Subwords, block: Block, index: int, reverse: bool) -> WordPair:
    text = subwords.text
    source, target = block.pair(index)
    if reverse:
        source, target = target, source
    pair = (
        split_words(source, text.tokenisation, text.source_language),
        split_words(target, text.tokenisation, text.target_language),
    )
    pieces = max(len(subwords.encode(words).ids) for words in pair)
    if pieces > MOST_PIECES:
        problem = f"a sentence of {pieces:,} pieces, but the model's limit is {MOST_PIECES:,}; split it"
        raise BadLine(block.file, block.first_line + index, problem)
    return pair
