"""``weft align``: sentence pairs in, one line of links out for each."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from weft.config import Merge, Method
from weft.errors import BadLine, WeftError
from weft.model.aligner import MOST_PIECES, WordPair, align
from weft.model.system import AlignmentSystem
from weft.progress import say
from weft.text.corpus import Block, Corpus
from weft.text.links import format_links
from weft.text.words import split_words

_WINDOW = 2_000  # pairs that are sorted by length together
_BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}


def align_file(
    model: Path,
    file: str,
    method: Method | None,
    merge: Merge | None,
    threshold: float | None,
    strict: bool,
) -> None:
    """Print the links of a file of sentence pairs, in its order."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    system = AlignmentSystem.load(model, device)
    method = method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{model}: has no {method} layers; its methods are {', '.join(system.methods)}")
    merge = merge or _BEST_MERGE[method]
    if threshold is None:
        threshold = system.guided.threshold if system.guided is not None else 0.0
    pairs = _pairs(system, file, strict)
    while window := list(itertools.islice(pairs, _WINDOW)):
        for links in align(system, window, system.attend(method), (merge,), threshold)[merge]:
            print(format_links(links))
        sys.stdout.flush()


def _pairs(system: AlignmentSystem, file: str, strict: bool) -> Iterator[WordPair]:
    """The words of all pairs; a bad line is an empty pair and a warning, so that no line is lost."""
    for block in Corpus(files=(file,)).blocks():
        for index in range(len(block.source)):
            try:
                yield _words(system, block, index)
            except BadLine as bad:
                problem = f"{bad.file}:{bad.line}: {bad.problem}"
                if strict:
                    raise WeftError(problem) from None
                say(f"weft: {problem}; its links are an empty line")
                yield [], []


def _words(system: AlignmentSystem, block: Block, index: int) -> WordPair:
    text = system.subwords.text
    source, target = block.pair(index)
    pair = (
        split_words(source, text.tokenisation, text.source_language),
        split_words(target, text.tokenisation, text.target_language),
    )
    pieces = max(len(system.subwords.encode(words).ids) for words in pair)
    if pieces > MOST_PIECES:
        problem = f"a sentence of {pieces:,} pieces, but the model's limit is {MOST_PIECES:,}; split it"
        raise BadLine(block.file, block.first_line + index, problem)
    return pair
