"""Align with torch: a method of a whole system, or the scorer of a small aligner on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from weft.align.batched_aligner import SCORER_TOKENS, BatchedAligner, PackedLinks, PackedPairs, sorted_batches
from weft.align.model_folder import ModelFolder, read_aligner
from weft.align.windowed import SentencePair, Wanted, WordPair, encode_pairs
from weft.config import Merge, Method
from weft.errors import WeftError
from weft.links import Links
from weft.model.rows import Attend, Attention, Milestone, PairRows, has_half_precision
from weft.model.scorer import stored_scorers
from weft.model.sentence_rows import sentence_rows
from weft.model.system import AlignmentSystem
from weft.model.word_links import packed_links
from weft.text.subwords import Pieces, Subwords
from weft.text.words import Sentence

_AHEAD = 2_000  # pairs that are read ahead and sorted by length
_BATCH_TOKENS = 8_000
BEST_MERGE: dict[Method, Merge] = {
    "forward-pass": "grow-diag",
    "optimised": "grow-diag",
    "bidirectional": "best-cells",
    "guided": "mean",
}
"""The merge that suits each method of a whole system."""


class TorchAligner(BatchedAligner):
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
        super().__init__(subwords, merge, threshold, raw, reverse, _AHEAD, batch_tokens)
        self.attend, self.device = attend, device

    def links(self, pairs: PackedPairs, wanted: Wanted) -> PackedLinks:
        with _failures():
            return packed_links(self.attend, pairs, self.device, wanted.threshold, wanted.matrices)

    def attention(self, pairs: PackedPairs) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        before = None
        for source, target in sentence_rows(pairs, self.device):
            with _failures():
                begun = InFlight.of(self.attend(PairRows(source.rows, target.rows)))
            if before is not None:
                yield before.wait()
            before = begun
        if before is not None:
            yield before.wait()


@contextmanager
def _failures() -> Iterator[None]:
    """Turn want of memory on the device into WeftError."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise WeftError("the GPU has not enough memory; leave out --device cuda, or let nothing else use it") from None


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
    place = torch.device(device)
    weights = torch.bfloat16 if has_half_precision(place) else torch.float32  # converted once, not for each batch
    scorer, narrow = stored_scorers(content)
    chosen = narrow if fast and narrow is not None else scorer
    for one in {scorer, chosen}:  # a narrow one reads the embeddings of the other
        one.to(place, weights).eval()
    threshold = content.config.threshold if threshold is None else threshold
    return TorchAligner(chosen.attention, content.subwords, place, merge, threshold, raw, reverse, SCORER_TOKENS)


class InFlight(NamedTuple):
    """The attention of a batch, which a GPU may still have to compute."""

    attention: Attention  # in the memory of the host
    is_there: Milestone

    @classmethod
    def of(cls, attention: Attention) -> InFlight:
        """Let the device copy attention to the host."""
        copies = Attention(*(one.float().to("cpu", non_blocking=True) for one in attention))
        return cls(copies, Milestone(attention.forward.device))

    def wait(self) -> tuple[np.ndarray, np.ndarray]:
        """Wait until it is there."""
        self.is_there.wait()
        return self.attention.forward.numpy(), self.attention.backward.numpy()


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
    aligner = TorchAligner(attend, system.subwords, system.device, "mean", threshold, batch_tokens=batch_tokens)
    batches = sorted_batches(encode_pairs([*map(_sentences, pairs)], system.subwords), batch_tokens)
    for part, attention in aligner.attended(batches) if batches else ():
        for merge in merges:
            for pair, links in zip(part, attention.links(merge, threshold), strict=True):
                found[merge][pair.number] = frozenset(links)
    return found


def word_attention(system: AlignmentSystem, pair: WordPair, attend: Attend) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention between the words of a pair, forward and backward, each (target words, source words).

    A word's attention is the mean over its pieces of what each pays to all pieces of the other word together.
    """
    encoded = next(encode_pairs([_sentences(pair)], system.subwords), None)
    if encoded is None:  # a side is empty
        nothing = np.zeros((len(pair[1]), len(pair[0])))
        return nothing, nothing
    ((source_rows, target_rows),) = sentence_rows(PackedPairs.of([[encoded]]), system.device)
    attention = attend(PairRows(source_rows.rows, target_rows.rows))
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
