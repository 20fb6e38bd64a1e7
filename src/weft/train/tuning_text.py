"""The text that an aligner is tuned to: chosen, cut into pieces, and how often an epoch has each pair."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from weft.config import TrainingConfig, TuneConfig
from weft.corpus.packing import pack
from weft.corpus.prepared import Side
from weft.errors import WeftError, remedy_for_bad_lines
from weft.progress import Progress
from weft.text.reading import Corpus
from weft.text.subwords import Subwords
from weft.train.corrected_pairs import CorrectedPair, TaughtPair, text_key
from weft.train.task import Text, encoded_sides, side_of
from weft.train.word_statistics import WordSide

_LEAST_PAIRS = 100  # fewer say nothing about words in general
_LEAST_CORRECTED = 20  # pairs that teach something without other text
_MOST_PAIRS, _MOST_CELLS = 100_000, 60_000_000  # pairs, and pairs of pieces in them, that take up to 3 GB of memory
_MOST_EPOCHS = 30  # of a small text, or of the corrected pairs of a larger one
_MOST_CORRECTED = 0.5  # of the pieces of an epoch, if corrected pairs have fewer
Item = TypeVar("Item")


@dataclass(frozen=True)
class Chosen:
    """Sentence pairs that can teach something."""

    name: str
    """Of the text, for messages."""
    corrected: list[CorrectedPair]
    others: list[tuple[str, str]]

    @classmethod
    def of(cls, corpus: Corpus | None, corrected: Iterable[CorrectedPair], config: TuneConfig, visible: bool) -> Chosen:
        """Read the corrected pairs and those of a corpus: all, or as many of each as are wanted, chosen at random.

        What is corrected is not also among the others. Raises WeftError for bad lines.
        """
        generator = random.Random(config.training.seed)
        most = min(config.pairs or _MOST_PAIRS, _MOST_PAIRS)
        with remedy_for_bad_lines("fix the line or leave it out"), Progress(visible) as progress:
            kept = _sampled(corrected, most, generator)
            known = {text_key(*one.texts) for one in kept}
            if corpus is None:
                return cls("--corrected", kept, [])
            others = (one for one in _useful_pairs(corpus, progress) if text_key(*one) not in known)
            return cls((corpus.files or corpus.source)[0], kept, _sampled(others, most, generator))

    def extended(self, subwords: Subwords, merges: int) -> tuple[Subwords, list[tuple[int, ...]]]:
        """Learn pieces of the text's frequent words, of which a model that does not know them has small pieces only."""
        words: Counter[tuple[int, ...]] = Counter()
        for side in encoded_sides([*(one.texts for one in self.corrected), *self.others], subwords):
            found = WordSide.of(side, subwords)
            words.update(dict(zip(found.pieces, np.bincount(found.sentences.ids).tolist(), strict=True)))
        return subwords.extended(words, merges)


def _useful_pairs(corpus: Corpus, progress: Progress) -> Iterator[tuple[str, str]]:
    progress.phase("reading", corpus.size(), "B")
    for block in corpus.blocks():
        for source, target in block.pairs():
            if source != target and source.strip() and target.strip():
                yield source, target
        progress.advance(block.bytes_read)


def _sampled(items: Iterable[Item], most: int, generator: random.Random) -> list[Item]:
    """Return all items, or so many of them, chosen at random."""
    chosen: list[Item] = []
    for seen, item in enumerate(items, 1):
        if len(chosen) < most:
            chosen.append(item)
        elif (place := generator.randrange(seen)) < most:
            chosen[place] = item
    return chosen


@dataclass(frozen=True)
class TuningText:
    """Sentence pairs in pieces; those that are taught come first."""

    taught: Sequence[TaughtPair]
    sides: tuple[Side, Side]
    words: tuple[WordSide, WordSide]

    @classmethod
    def of(cls, chosen: Chosen, subwords: Subwords, training: TrainingConfig) -> TuningText:
        """Cut pairs into pieces, without those that do not fit into a row, and as many as do not fit into memory.

        Raises WeftError if too few are left to learn from.
        """
        taught = [TaughtPair.of(pair, subwords) for pair in chosen.corrected]
        taught = [pair for pair in taught if all(len(pieces.ids) for pieces in pair.pieces)]
        sides = [
            _joined(side_of([pair.pieces[place].ids for pair in taught]), side)
            for place, side in enumerate(encoded_sides(chosen.others, subwords))
        ]
        lengths = np.stack([side.lengths for side in sides])  # (2, pairs)
        fits = lengths.max(axis=0, initial=0) < training.row_length
        share = _MOST_CELLS / max(1, int((lengths.prod(axis=0) * fits).sum()))
        fits &= np.random.default_rng(training.seed).random(len(fits)) < share
        taught = [pair for pair, is_kept in zip(taught, fits, strict=False) if is_kept]
        if fits.sum() < _LEAST_PAIRS and len(taught) < _LEAST_CORRECTED:
            raise WeftError(
                f"{chosen.name}: has too few sentence pairs with different words on both sides: {fits.sum():,}; give "
                f"{_LEAST_PAIRS:,} at least, better some thousands, or {_LEAST_CORRECTED} with corrected links"
            )
        source, target = (
            Side(side.ids[np.repeat(fits, side.lengths)], np.append(0, side.lengths[fits].cumsum())) for side in sides
        )
        words = (
            WordSide.of(source, subwords, [pair.words[0] for pair in taught]),
            WordSide.of(target, subwords, [pair.words[1] for pair in taught]),
        )
        return cls(taught, (source, target), words)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.sides[0])

    def packed(self, training: TrainingConfig) -> Text:
        """Return the pairs of an epoch in rows."""
        times = self._times(training)
        return Text(
            partial(pack, *self.sides, training.row_length, training.seed, 0, lambda *some: times[slice(*some)])
        )

    def _times(self, training: TrainingConfig) -> np.ndarray:
        """Return how often an epoch has each pair: corrected ones as often as they would be seen alone. (pairs,)"""
        pieces, taught = self.sides[1].lengths, len(self.taught)
        own, others = int(pieces[:taught].sum()), int(pieces[taught:].sum())
        share = min(_MOST_EPOCHS * own / (training.updates * training.target_tokens), _MOST_CORRECTED)
        copies = max(1, round(share / (1 - share) * others / max(1, own)))
        return np.where(np.arange(len(self)) < taught, copies, 1)

    def limited(self, training: TrainingConfig) -> TrainingConfig:
        """Return how to learn from this text: a small one is not gone through for ever."""
        enough = -(-_MOST_EPOCHS * len(self.sides[1].ids) // training.target_tokens)
        return dataclasses.replace(training, updates=min(training.updates, enough))

    def checksum(self) -> str:
        """Return a short checksum of pieces and links."""
        found = hashlib.sha256()
        for side in self.sides:
            found.update(side.ids.tobytes())
            found.update(side.offsets.tobytes())
        for pair in self.taught:
            found.update(pair.forward.tobytes())
            found.update(pair.backward.tobytes())
        return found.hexdigest()[:16]


def _joined(first: Side, second: Side) -> Side:
    return Side(
        np.concatenate([first.ids, second.ids]), np.append(first.offsets, first.offsets[-1] + second.offsets[1:])
    )
