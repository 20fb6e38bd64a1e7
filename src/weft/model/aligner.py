"""From sentence pairs as words to links between words, with the whole system."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from weft.align.alignment import Alignment
from weft.align.symmetrize import symmetrize
from weft.config import Merge, Method
from weft.model.extraction import best_cell_links, best_source_links, mean_links
from weft.model.system import AlignmentSystem, Attention, PairRows
from weft.text.links import Links
from weft.text.pairs import EncodedPair, OnLong, WordPair, encode_pairs, too_long
from weft.text.sentence import Text, sentence_pair
from weft.text.subwords import END, PAD, Pieces

_WINDOW = 2_000  # pairs that are sorted by length together
_BATCH_TOKENS = 8_000


class SystemAligner:
    """A system with a method and a way to merge its directions chosen: alignments for a stream of pairs."""

    def __init__(
        self, system: AlignmentSystem, method: Method, merge: Merge, threshold: float, raw: bool = False
    ) -> None:
        self.subwords = system.subwords
        self.tokenisation = "simple" if raw else system.subwords.text.tokenisation
        self._system, self._attend, self._merge, self._threshold = system, system.attend(method), merge, threshold

    def align(self, pairs: Iterable[tuple[Text, Text]], on_long: OnLong = too_long) -> Iterator[Alignment]:
        """The alignments of sentence pairs, in order; a side is text or a list of words."""
        iterator, seen = iter(pairs), 0
        while window := list(itertools.islice(iterator, _WINDOW)):
            sentences = [sentence_pair(*pair, self.subwords.text, self.tokenisation) for pair in window]
            found = [Alignment(source, target) for source, target in sentences]
            words = [(source.words, target.words) for source, target in sentences]
            for batch in _batches(encode_pairs(words, self.subwords, seen, on_long), _BATCH_TOKENS):
                pair = _rows(batch, self._system.device)
                attention = self._attend(pair)
                links = _Merged(attention, pair, batch, self._threshold).links(self._merge)
                strength = ((attention.forward + attention.backward) / 2).float().cpu().numpy()
                for row, one in enumerate(batch):
                    matrix = _between_words(strength[row], one)
                    probabilities = {link: float(matrix[link]) for link in sorted(links[row])}
                    score = _fit(strength[row], one)
                    found[one.number] = Alignment(*sentences[one.number], probabilities, score)
            seen += len(window)
            yield from found


def _fit(strength: np.ndarray, pair: EncodedPair) -> float:
    """The mean, over the pieces of both sides, of their strongest cell."""
    cells = strength[: len(pair.target.ids), : len(pair.source.ids)]
    return float((cells.max(0).sum() + cells.max(1).sum()) / sum(cells.shape))


def _between_words(strength: np.ndarray, pair: EncodedPair) -> np.ndarray:
    """The strongest cell between the pieces of any two words. (source words, target words)"""
    source, target = (np.array(side.words) for side in (pair.source, pair.target))
    matrix = np.zeros((source[-1] + 1, target[-1] + 1))
    np.maximum.at(matrix, (source[None, :], target[:, None]), strength[: len(target), : len(source)])
    return matrix


def align(
    system: AlignmentSystem,
    pairs: Sequence[WordPair],
    attend: Callable[[PairRows], Attention],
    merges: Sequence[Merge],
    threshold: float = 0.0,
    batch_tokens: int = _BATCH_TOKENS,
) -> dict[Merge, list[Links]]:
    """The links of all pairs, merged in each of the ways asked for; ``attend`` is a method of the system.

    ``threshold`` is for cells with a high mean.
    """
    found: dict[Merge, list[Links]] = {merge: [frozenset()] * len(pairs) for merge in merges}
    for batch in _batches(encode_pairs(pairs, system.subwords), batch_tokens):
        pair = _rows(batch, system.device)
        merged = _Merged(attend(pair), pair, batch, threshold)
        for merge in merges:
            for encoded, links in zip(batch, merged.links(merge), strict=True):
                found[merge][encoded.number] = links
    return found


class _Merged:
    """The attention of a batch, and the links that it has when merged in one way or another."""

    def __init__(self, attention: Attention, pair: PairRows, batch: list[EncodedPair], threshold: float) -> None:
        self._attention, self._pair, self._batch, self._threshold = attention, pair, batch, threshold

    def links(self, merge: Merge) -> list[Links]:
        """Links between words."""
        if merge in ("forward", "backward", "best-cells", "mean"):
            return _word_links(self._cells(merge), self._batch)
        ways = zip(self.links("forward"), self.links("backward"), strict=True)
        return [symmetrize(forward, backward, merge) for forward, backward in ways]

    def _cells(self, merge: Merge) -> Tensor:
        """Links between pieces. (batch, target, source)"""
        attention, target, source = self._attention, self._pair.target, self._pair.source
        if merge == "forward":
            return best_source_links(attention.forward, target, source)
        if merge == "backward":
            return best_source_links(attention.backward.mT, source, target).mT
        if merge == "best-cells":
            return best_cell_links(*attention, target, source)
        return mean_links(*attention, self._threshold, target, source)


def _word_links(cells: Tensor, batch: list[EncodedPair]) -> list[Links]:
    """Two words are linked if any of their pieces are."""
    links: list[set[tuple[int, int]]] = [set() for _ in batch]
    for row, target, source in cells.nonzero().tolist():
        links[row].add((batch[row].source.words[source], batch[row].target.words[target]))
    return [frozenset(one) for one in links]


def _batches(encoded: Iterable[EncodedPair], batch_tokens: int) -> Iterator[list[EncodedPair]]:
    """Pairs of similar length, as many as the budget allows for the longer side."""

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


def _rows(batch: list[EncodedPair], device: torch.device) -> PairRows:
    """One pair a row."""
    sides = []
    for sentences in ([one.source.ids for one in batch], [one.target.ids for one in batch]):
        ids = torch.full((len(batch), max(map(len, sentences)) + 1), PAD, dtype=torch.int32)
        for row, sentence in enumerate(sentences):
            ids[row, : len(sentence) + 1] = torch.tensor([*sentence, END])
        sides.append(ids.to(device))
    return PairRows.of(*sides)


def word_attention(
    system: AlignmentSystem, pair: WordPair, attend: Callable[[PairRows], Attention]
) -> tuple[np.ndarray, np.ndarray]:
    """The attention between the words of a pair, forward and backward, each (target words, source words).

    A word attends to another as its pieces do on average, and to all pieces of the other together.
    """
    (encoded,) = encode_pairs([pair], system.subwords)
    attention = attend(_rows([encoded], system.device))
    source, target = (_membership(side) for side in (encoded.source, encoded.target))  # (words, pieces)
    forward, backward = (one[0, :-1, :-1].float().cpu().numpy() for one in attention)  # without end-of-sentence
    return (
        target / target.sum(1, keepdims=True) @ forward @ source.T,
        target @ backward @ (source / source.sum(1, keepdims=True)).T,
    )


def _membership(pieces: Pieces) -> np.ndarray:
    """1 where a piece belongs to a word. (words, pieces)"""
    return np.equal.outer(np.arange(pieces.words[-1] + 1), np.array(pieces.words)).astype(float)
