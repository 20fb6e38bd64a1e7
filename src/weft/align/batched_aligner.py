"""Aligners that compute many pairs at once, in arrays that another process or a GPU can take. No torch here."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from weft.align.attention_to_links import BatchAttention
from weft.align.windowed import LINK_CELLS, Aligned, EncodedPair, Wanted, WindowedAligner, answers, batch_attention
from weft.config import Merge
from weft.text.subwords import Pieces, Subwords

SCORER_TOKENS = 64_000
"""Of the longer side of a batch, padding included, for the scorer of a small aligner."""
_BATCH_CELLS = 1 << 24  # of attention in a batch of more than one pair


class Sentences(NamedTuple):
    """The sentences of one side of a batch, one after the other."""

    ids: np.ndarray  # (pieces,)
    lengths: np.ndarray  # (batch,): how many pieces each sentence has
    first: np.ndarray  # (pieces,): the first word that each piece is part of
    last: np.ndarray  # (pieces,)

    @classmethod
    def of(cls, sentences: Sequence[Pieces]) -> Sentences:
        """Put the pieces of all sentences into one array."""
        ids, first = np.concatenate([one.ids for one in sentences]), np.concatenate([one.first for one in sentences])
        is_of_one = all(one.last is one.first for one in sentences)
        last = first if is_of_one else np.concatenate([one.last for one in sentences])
        return cls(ids, np.array([len(one.ids) for one in sentences], np.int32), first, last)


class PackedPairs(NamedTuple):
    """Sentence pairs in batches, in the order in which they are computed."""

    source: Sentences
    target: Sentences
    sizes: list[int]  # how many pairs each batch has

    @classmethod
    def of(cls, batches: Sequence[Sequence[EncodedPair]]) -> PackedPairs:
        """Pack batches of pairs; there must be one."""
        pairs = list(itertools.chain.from_iterable(batches))
        sides = Sentences.of([pair.source for pair in pairs]), Sentences.of([pair.target for pair in pairs])
        return cls(*sides, list(map(len, batches)))


class PackedLinks(NamedTuple):
    """The links of packed pairs, one pair after the other."""

    counts: np.ndarray  # (pairs,): how many links each pair has
    sources: np.ndarray  # (links,): their source words
    targets: np.ndarray  # (links,)
    probabilities: np.ndarray  # (links,)
    scores: np.ndarray  # (pairs,)
    matrices: list[np.ndarray]  # of each batch (batch, target words, source words), if they are wanted

    def of_pairs(self, pairs: Iterable[EncodedPair]) -> Iterator[Aligned]:
        """Yield the links of each pair."""
        words = list(zip(self.sources.tolist(), self.targets.tolist(), strict=True))
        probabilities, begin = self.probabilities.tolist(), 0
        cells = itertools.chain.from_iterable(self.matrices) if self.matrices else itertools.repeat(None)
        ends = np.cumsum(self.counts).tolist()
        for pair, end, score, matrix in zip(pairs, ends, self.scores.tolist(), cells, strict=False):
            links = dict(zip(words[begin:end], probabilities[begin:end], strict=True))
            yield Aligned(pair, links, score, matrix)
            begin = end


class BatchedAligner(WindowedAligner):
    """An aligner that sorts the pairs of a window by length into batches."""

    def __init__(
        self,
        subwords: Subwords,
        merge: Merge,
        threshold: float,
        raw: bool,
        reverse: bool,
        ahead: int,
        batch_tokens: int,
    ) -> None:
        super().__init__(subwords, merge, threshold, raw, reverse, ahead)
        self.batch_tokens = batch_tokens

    @abstractmethod
    def links(self, pairs: PackedPairs, wanted: Wanted) -> PackedLinks:
        """Return the links of pairs by the merge ``mean``."""

    @abstractmethod
    def attention(self, pairs: PackedPairs) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Return the attention of both directions for each batch, (batch, target, source)."""

    def attended(self, batches: Sequence[list[EncodedPair]]) -> Iterator[tuple[list[EncodedPair], BatchAttention]]:
        """Yield all pairs, a few at a time, with their attention."""
        for batch, (forward, backward) in zip(batches, self.attention(PackedPairs.of(batches)), strict=True):
            yield from _parts(batch, forward, backward)

    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterator[Aligned]:
        batches = sorted_batches(encoded, self.batch_tokens)
        if not batches:
            return
        if wanted.merge == "mean":
            yield from self.links(PackedPairs.of(batches), wanted).of_pairs(itertools.chain.from_iterable(batches))
        else:
            for part, attention in self.attended(batches):
                yield from answers(part, attention, wanted)


def sorted_batches(encoded: Iterable[EncodedPair], batch_tokens: int) -> list[list[EncodedPair]]:
    """Return batches of pairs of similar length, as large as the budget allows for the longer side."""
    batches: list[list[EncodedPair]] = []
    by_length = sorted((max(len(one.source.ids), len(one.target.ids)) + 1, one.number, one) for one in encoded)
    for length, _, one in by_length:
        size = (len(batches[-1]) + 1) * length if batches else 0
        if not batches or size > batch_tokens or size * length > _BATCH_CELLS:
            batches.append([])
        batches[-1].append(one)
    return batches


def _parts(
    batch: list[EncodedPair], forward: np.ndarray, backward: np.ndarray
) -> Iterator[tuple[list[EncodedPair], BatchAttention]]:
    """Yield the attention of a few pairs at a time, so that what links are made of stays in the caches."""
    size = max(1, LINK_CELLS // forward[0].size)
    for first in range(0, len(batch), size):
        part = batch[first : first + size]
        cells = (
            slice(first, first + size),
            slice(max(len(pair.target.ids) for pair in part) + 1),
            slice(max(len(pair.source.ids) for pair in part) + 1),
        )
        yield part, batch_attention(part, forward[cells], backward[cells])
