"""What all aligners share: a stream of sentence pairs in, an alignment for each pair out, in order."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

import numpy as np

from weft.align.alignment import Alignment
from weft.align.attention_to_links import BatchAttention, WordLinks
from weft.config import MOST_PIECES, Merge
from weft.errors import WeftError
from weft.text.subwords import Pieces, Subwords
from weft.text.words import Sentence, Text

if TYPE_CHECKING:
    from weft.apply.markup import TagHandling

WordPair = tuple[list[str], list[str]]
SentencePair = tuple[Sentence, Sentence]
OnLong = Callable[[int, int], None]
"""Called with the index of a pair that is too long and its number of pieces."""
_AT_ONCE = 50_000  # characters; longer texts are counted in parts, as pieces take hundreds of times the size of text
_TOGETHER = 500_000  # characters of the pairs that are cut into pieces together
LINK_CELLS = 300_000
"""Of the attention of pairs whose links are made together: of many at once, yet little enough for caches."""
MERGES: tuple[Merge, ...] = tuple(itertools.chain(*map(get_args, get_args(Merge))))


class EncodedPair(NamedTuple):
    """A sentence pair in pieces."""

    number: int  # in its window
    source: Pieces
    target: Pieces


class Aligned(NamedTuple):
    """The links found for a pair."""

    pair: EncodedPair
    links: WordLinks
    score: float
    matrix: np.ndarray | None = None  # probabilities, if they are wanted (target words, source words), perhaps padded


class Wanted(NamedTuple):
    """How links are made, and what else is wanted."""

    merge: Merge
    threshold: float
    matrices: bool

    def check(self) -> None:
        """Raise WeftError if there are no such links."""
        if self.merge not in MERGES:
            raise WeftError(f"merge is one of {', '.join(MERGES)}, not {self.merge!r}")
        if not 0 <= self.threshold <= 1:  # also false for NaN
            raise WeftError(f"threshold is a probability, from 0 to 1, not {self.threshold}")


class AlignsPairs(Protocol):
    """What aligns sentence pairs as `WindowedAligner` does."""

    def stream(
        self, pairs: Iterable[SentencePair], on_long: OnLong, ahead: int = 0, matrices: bool = False
    ) -> Iterator[Alignment]:
        """Yield an alignment for each pair, in order."""
        ...


class WindowedAligner(ABC):
    """An aligner that reads a window of pairs ahead, so that pairs of similar length share a batch."""

    def __init__(
        self, subwords: Subwords, merge: Merge, threshold: float, raw: bool, reverse: bool, ahead: int
    ) -> None:
        """``reverse``: pairs have the model's target language first. ``ahead``: the size of the window."""
        Wanted(merge, threshold, matrices=False).check()
        self.subwords = subwords
        self.merge: Merge = merge
        self.threshold = threshold
        self.raw = raw
        self.reverse = reverse
        self._ahead = ahead

    @abstractmethod
    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterable[Aligned]:
        """Align the pairs of a window, in any order."""

    def align_one(self, source: Text, target: Text) -> Alignment:
        """Align one sentence pair; each side is text, words, or a ``Sentence``."""
        return next(self.align([(source, target)]))

    def align(
        self,
        pairs: Iterable[tuple[Text, Text]],
        *,
        skip_long: bool = False,
        ahead: int = 0,
        matrices: bool = False,
        merge: Merge | None = None,
        threshold: float | None = None,
    ) -> Iterator[Alignment]:
        """Align sentence pairs; each side is text, words, or a ``Sentence``. Yields an alignment for each, in order.

        Reads ``ahead`` pairs at a time (0: as many as suit the aligner; 1: each is answered before the next is read).
        A pair that is too long raises WeftError, or has no links if ``skip_long``. With ``matrices``, alignments have
        the probabilities of all pairs of words. ``merge`` and ``threshold`` are the aligner's own if they are None.
        """
        on_long = pass_over if skip_long else _refuse
        return self.stream(pairs, on_long, ahead, matrices, merge, threshold)

    def stream(
        self,
        pairs: Iterable[tuple[Text, Text]],
        on_long: OnLong,
        ahead: int = 0,
        matrices: bool = False,
        merge: Merge | None = None,
        threshold: float | None = None,
    ) -> Iterator[Alignment]:
        """Align as ``align`` does; a pair that is too long has no links if ``on_long`` returns."""
        wanted = Wanted(merge or self.merge, self.threshold if threshold is None else threshold, matrices)
        wanted.check()
        iterator, seen = iter(pairs), 0
        while window := list(itertools.islice(iterator, ahead or self._ahead)):
            sentences = [self._sentences(pair, number) for number, pair in enumerate(window, seen + 1)]
            found: dict[int, Alignment] = {}
            encoded = encode_pairs(sentences, self.subwords, on_long, seen)
            for pair, links, score, matrix in self._align_encoded(encoded, wanted):
                source, target = sentences[pair.number]
                cells = None if matrix is None else _fitted(matrix.T, len(source), len(target))
                found[pair.number] = Alignment(source, target, links, score, cells)
            seen += len(window)
            alignments = (found.get(number) or Alignment(*pair) for number, pair in enumerate(sentences))
            yield from (one.reversed() for one in alignments) if self.reverse else alignments

    def transfer(self, source: str, target: str, handling: TagHandling = "html", **options: Any) -> str:
        """Return the target, a translation of the source, with the inline markup of the source.

        Options are those of ``weft.apply.markup_transfer.transfer``, which is faster for many segments.
        """
        from weft.apply.markup_transfer import transfer  # a later layer, which is here for users to find

        return next(transfer(self, [(source, target)], handling, **options))

    def _sentences(self, pair: Any, number: int) -> SentencePair:
        """Split a pair into words, the model's source language first. ``number`` counts from one, for errors."""
        try:
            if isinstance(pair, str | bytes | Mapping):  # which could be unpacked, too
                raise TypeError
            source, target = pair
        except (TypeError, ValueError):
            raise WeftError(
                f"sentence pair {number}: expected (source, target), not {_shown(pair)}; align() takes an iterable of "
                "such pairs, align_one() a single one"
            ) from None
        first, second = (target, source) if self.reverse else (source, target)
        return self._sentence(first, number), self._sentence(second, number)

    def _sentence(self, text: Any, number: int) -> Sentence:
        if isinstance(text, Sentence):
            return text
        if isinstance(text, str):
            return Sentence.from_text(text, self.raw)
        words = list(text) if isinstance(text, Iterable) else [text]
        if not all(isinstance(word, str) for word in words):
            raise WeftError(f"sentence pair {number}: a side is text or a list of words, not {_shown(text)}")
        return Sentence.from_words(words)


def batch_attention(batch: Sequence[EncodedPair], forward: np.ndarray, backward: np.ndarray) -> BatchAttention:
    """Return the attention of a batch with its words, given both directions (batch, target, source)."""
    return BatchAttention.of(forward, backward, [pair.source for pair in batch], [pair.target for pair in batch])


def answers(batch: Sequence[EncodedPair], attention: BatchAttention, wanted: Wanted) -> Iterator[Aligned]:
    """Make links of the attention of a batch."""
    cells = attention.probability if wanted.matrices else itertools.repeat(None)
    return map(Aligned, batch, attention.links(wanted.merge, wanted.threshold), attention.scores(), cells)


def _fitted(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return a copy of this shape, zero where the matrix has nothing: words without pieces at the end."""
    fitted = np.zeros((rows, columns), matrix.dtype)
    part = matrix[:rows, :columns]
    fitted[: part.shape[0], : part.shape[1]] = part
    return fitted


def _shown(value: object) -> str:
    """Return how an error shows what was given."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def pass_over(index: int, pieces: int) -> None:
    """Leave a pair that is too long without links."""


def _refuse(index: int, pieces: int) -> None:
    raise WeftError(f"sentence pair {index + 1}: {describe_too_long(pieces)}")


def encode_pairs(
    pairs: Sequence[SentencePair], subwords: Subwords, on_long: OnLong = _refuse, first: int = 0
) -> Iterator[EncodedPair]:
    """Cut pairs into pieces. Yields all pairs but those with an empty side and those that are too long.

    ``first`` is the index of the first pair in the whole stream, for ``on_long``.
    """
    for part in _of_some_size(pairs):
        wanted, sentences = [], []
        for number in part:
            source, target = pairs[number]
            counted = max(_count_of_long(source.text, subwords), _count_of_long(target.text, subwords))
            if counted > MOST_PIECES:
                on_long(first + number, counted)
            else:
                wanted.append(number)
                sentences += source, target
        pieces = iter(subwords.encode_all(sentences))
        for number, source, target in zip(wanted, pieces, pieces, strict=True):
            lengths = len(source.ids), len(target.ids)
            if max(lengths) > MOST_PIECES:
                on_long(first + number, max(lengths))
            elif min(lengths):
                yield EncodedPair(number, source, target)


def _of_some_size(pairs: Sequence[SentencePair]) -> Iterator[range]:
    """Yield numbers of pairs that are cut into pieces together: many, but no more text than memory has room for."""
    begin, characters = 0, 0
    for number, (source, target) in enumerate(pairs):
        if characters > _TOGETHER:
            yield range(begin, number)
            begin, characters = number, 0
        characters += len(source.text) + len(target.text)
    yield range(begin, len(pairs))


def _count_of_long(text: str, subwords: Subwords) -> int:
    """Return the number of pieces of a long text, but for a few where its parts meet; 0 for any other."""
    if len(text) <= _AT_ONCE:
        return 0
    return sum(len(subwords.ids(text[start : start + _AT_ONCE])) for start in range(0, len(text), _AT_ONCE))


def describe_too_long(pieces: int) -> str:
    """Return what to tell the user about a sentence that no model can take."""
    return f"a sentence of {pieces:,} pieces, but the model's limit is {MOST_PIECES:,}; split it"
