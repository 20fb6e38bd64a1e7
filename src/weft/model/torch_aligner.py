"""Align with torch: a method of a whole system, or the scorer of a small aligner on a GPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from weft.align.attention_to_links import BatchAttention
from weft.align.model_folder import ModelFolder, read_aligner
from weft.align.windowed import (
    LINK_CELLS,
    Aligned,
    EncodedPair,
    SentencePair,
    Wanted,
    WindowedAligner,
    WordPair,
    answers,
    batch_attention,
    encode_pairs,
)
from weft.config import Merge, Method
from weft.errors import WeftError
from weft.links import Links
from weft.model.rows import Attend, Attention, PairRows
from weft.model.scorer import stored_scorers
from weft.model.system import AlignmentSystem
from weft.text.subwords import END, PAD, Pieces, Subwords
from weft.text.words import Sentence

_AHEAD = 2_000  # pairs that are read ahead and sorted by length
_BATCH_TOKENS = 8_000
_SCORER_TOKENS = 32_000
BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}
"""The merge that suits each method of a whole system."""


class TorchAligner(WindowedAligner):
    """An aligner whose attention torch computes."""

    def __init__(
        self,
        attend: Attend,
        subwords: Subwords,
        device: torch.device,
        merge: Merge,
        threshold: float,
        raw: bool = False,
        reverse: bool = False,
        batch_tokens: int = _BATCH_TOKENS,
    ) -> None:
        super().__init__(subwords, merge, threshold, raw, reverse, _AHEAD)
        self.attend, self.device, self.batch_tokens = attend, device, batch_tokens

    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterator[Aligned]:
        for batch, attention in _attended(self.attend, encoded, self.device, self.batch_tokens):
            yield from answers(batch, attention, wanted)


def system_aligner(
    folder: Path,
    device: str,
    method: Method | None = None,
    *,
    merge: Merge | None = None,
    threshold: float | None = None,
    raw: bool = False,
    reverse: bool = False,
) -> TorchAligner:
    """Load a whole system to align with; what is None is chosen to suit it."""
    system = AlignmentSystem.load(folder, torch.device(device))
    method = method or system.methods[-1]
    if method not in system.methods:
        raise WeftError(f"{folder}: has no {method} layers; its methods are {', '.join(system.methods)}")
    threshold = system.threshold if threshold is None else threshold
    attend = system.attend(method)
    return TorchAligner(attend, system.subwords, system.device, merge or BEST_MERGE[method], threshold, raw, reverse)


def scorer_aligner(
    folder: Path | ModelFolder,
    device: str,
    fast: bool = False,
    *,
    merge: Merge = "mean",
    threshold: float | None = None,
    raw: bool = False,
    reverse: bool = False,
) -> TorchAligner:
    """Load a small aligner into torch. A GPU computes it in half precision instead of eight bits."""
    content = read_aligner(folder, fast)
    scorer, narrow = stored_scorers(content)
    chosen = (narrow if fast and narrow is not None else scorer).to(device).eval()
    threshold = content.config.threshold if threshold is None else threshold
    place = torch.device(device)
    return TorchAligner(chosen.attention, content.subwords, place, merge, threshold, raw, reverse, _SCORER_TOKENS)


class InFlight(NamedTuple):
    """The attention of a batch, which a GPU may still have to compute."""

    batch: list[EncodedPair]
    attention: Attention  # in the memory of the host
    is_there: torch.cuda.Event | None  # None: it is there

    @classmethod
    def of(cls, attend: Attend, batch: list[EncodedPair], device: torch.device) -> InFlight:
        """Let the device begin."""
        attention = Attention(*(one.float().to("cpu", non_blocking=True) for one in attend(rows_of(batch, device))))
        is_there = None
        if device.type == "cuda":
            is_there = torch.cuda.Event(blocking=True)  # leaves the core to others while it waits
            is_there.record()
        return cls(batch, attention, is_there)

    def wait(self) -> None:
        """Wait until it is there."""
        if self.is_there is not None:
            self.is_there.synchronize()

    def parts(self) -> Iterator[tuple[list[EncodedPair], BatchAttention]]:
        """Wait for it, and yield a few pairs at a time, so that what links are made of stays in the caches."""
        self.wait()
        forward, backward = (one.numpy() for one in self.attention)
        size = max(1, LINK_CELLS // forward[0].size)
        for first in range(0, len(self.batch), size):
            part = self.batch[first : first + size]
            cells = (
                slice(first, first + size),
                slice(max(len(pair.target.ids) for pair in part) + 1),
                slice(max(len(pair.source.ids) for pair in part) + 1),
            )
            yield part, batch_attention(part, forward[cells], backward[cells])


def _attended(
    attend: Attend, encoded: Iterable[EncodedPair], device: torch.device, batch_tokens: int
) -> Iterator[tuple[list[EncodedPair], BatchAttention]]:
    """Yield all pairs, a few at a time, with their attention. A GPU computes the next batch meanwhile."""
    before = None
    for batch in batches(encoded, batch_tokens):
        begun = InFlight.of(attend, batch, device)
        if before is not None:
            yield from before.parts()
        before = begun
    if before is not None:
        yield from before.parts()


def align(
    system: AlignmentSystem,
    pairs: Sequence[WordPair],
    attend: Attend,
    merges: Sequence[Merge],
    threshold: float = 0.0,
    batch_tokens: int = _BATCH_TOKENS,
) -> dict[Merge, list[Links]]:
    """Align pairs by ``attend``, a method of the system. Returns the links of all pairs for each of ``merges``.

    ``threshold`` is for the merge ``mean``.
    """
    found: dict[Merge, list[Links]] = {merge: [frozenset()] * len(pairs) for merge in merges}
    encoded = encode_pairs([_sentences(pair) for pair in pairs], system.subwords)
    for batch, attention in _attended(attend, encoded, system.device, batch_tokens):
        for merge in merges:
            for pair, links in zip(batch, attention.links(merge, threshold), strict=True):
                found[merge][pair.number] = frozenset(links)
    return found


def batches(encoded: Iterable[EncodedPair], batch_tokens: int) -> Iterator[list[EncodedPair]]:
    """Yield batches of pairs of similar length, as large as the budget allows for the longer side."""

    def length(one: EncodedPair) -> int:
        return max(len(one.source.ids), len(one.target.ids)) + 1

    batch: list[EncodedPair] = []
    for one in sorted(encoded, key=length):
        if batch and (len(batch) + 1) * length(one) > batch_tokens:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def rows_of(batch: list[EncodedPair], device: torch.device) -> PairRows:
    """Return the pieces of a batch, one pair a row."""
    sides = []
    for sentences in ([one.source.ids for one in batch], [one.target.ids for one in batch]):
        lengths = np.array([len(ids) for ids in sentences])
        ids = np.full((len(batch), lengths.max() + 1), PAD, np.int32)
        is_piece = np.arange(ids.shape[1]) < lengths[:, None]
        ids[is_piece] = np.fromiter(itertools.chain.from_iterable(sentences), np.int32)
        ids[np.arange(len(batch)), lengths] = END
        sides.append(torch.from_numpy(ids).to(device, non_blocking=True))
    return PairRows.of(*sides)


def word_attention(system: AlignmentSystem, pair: WordPair, attend: Attend) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention between the words of a pair, forward and backward, each (target words, source words).

    A word's attention is the mean over its pieces of what each pays to all pieces of the other word together.
    """
    encoded = next(encode_pairs([_sentences(pair)], system.subwords), None)
    if encoded is None:  # a side is empty
        nothing = np.zeros((len(pair[1]), len(pair[0])))
        return nothing, nothing
    attention = attend(rows_of([encoded], system.device))
    source, target = _membership(encoded.source, len(pair[0])), _membership(encoded.target, len(pair[1]))
    forward, backward = (one[0, :-1, :-1].float().cpu().numpy() for one in attention)  # without end-of-sentence
    return (
        target / np.maximum(target.sum(1, keepdims=True), 1) @ forward @ source.T,
        target @ backward @ (source / np.maximum(source.sum(1, keepdims=True), 1)).T,
    )


def _membership(pieces: Pieces, words: int) -> np.ndarray:
    """Return 1 where a piece is part of a word. (words, pieces)"""
    numbers = np.arange(words)[:, None]
    return ((np.array(pieces.first) <= numbers) & (numbers <= np.array(pieces.last))).astype(float)


def _sentences(pair: WordPair) -> SentencePair:
    source, target = pair
    return Sentence.from_words(source), Sentence.from_words(target)
