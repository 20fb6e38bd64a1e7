"""Probabilities of words given the words that they are linked to, in the files of Moses and Marian (``lex.s2t``)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Literal

import numpy as np

from weft.apply.block_counts import BY_PAIR, NULL, WORD_PAIR, BlockCounts
from weft.progress import Progress
from weft.text.counting import SortedLines, Table, group_starts, group_sums, key_of
from weft.text.words import split_spaces

Side = Literal["source", "target"]


class WordCounts:
    """How often words are linked, as they are written."""

    def __init__(self, folder: Path) -> None:
        """``folder``, an empty one, takes what memory does not hold."""
        self._folder = folder
        self._words = SortedLines(folder, "words")
        self._words.add([NULL])
        self._pairs = Table(folder / "word-pairs", WORD_PAIR, BY_PAIR)

    def add(self, block: BlockCounts) -> None:
        """Add the counts of a block."""
        self._words.add(block.words)
        self._pairs.add(block.word_pairs)

    def write(self, forward: Path, backward: Path, progress: Progress) -> None:
        """Write lines ``target source p(target | source)`` and, into another file, the same for the other direction.

        Words without links are linked to NULL. The lines are those of Marian's extract-lex, in another order.
        """
        vocabulary = _Vocabulary(self._words, self._folder / "vocabulary")
        turned = Table(self._folder / "turned-word-pairs", WORD_PAIR, ("target", "source"))
        progress.phase("writing probabilities of words", 2 * self._pairs.nbytes, "B")
        with forward.open("w", encoding="utf-8", newline="\n") as file:
            for pairs in self._pairs.read():
                progress.advance(pairs.nbytes)
                _write_pairs(pairs, "target", "source", vocabulary, file)
                turned.add(pairs)
        with backward.open("w", encoding="utf-8", newline="\n") as file:
            for pairs in turned.read():
                progress.advance(pairs.nbytes)
                _write_pairs(pairs, "source", "target", vocabulary, file)


def _write_pairs(pairs: np.ndarray, side: Side, given: Side, vocabulary: _Vocabulary, file: IO[str]) -> None:
    """Write pairs; those with the same given word follow each other."""
    starts = group_starts(pairs[given])
    totals = np.repeat(group_sums(pairs["count"], starts), np.diff(starts, append=len(pairs)))
    # Rounded as the C++ programs round, which compute with single precision.
    probabilities = pairs["count"].astype(np.float32) / totals.astype(np.float32)
    words = vocabulary.words(pairs[side]), vocabulary.words(pairs[given])
    file.writelines(
        f"{word} {known} {probability:.7f}\n"
        for word, known, probability in zip(*words, probabilities.tolist(), strict=True)
    )


class _Vocabulary:
    """The words that keys stand for. In memory are 24 bytes for each; the words themselves are in a file."""

    def __init__(self, words: Iterable[str], path: Path) -> None:
        """Words are shown without white space, which those of Arabic may have inside, as it is between columns."""
        keys, starts = array("Q"), array("Q", [0])
        with path.open("wb") as file:
            for word in words:
                keys.append(key_of(word))
                starts.append(starts[-1] + file.write("".join(split_spaces(word)).encode()))
        order = np.argsort(np.frombuffer(keys, np.uint64))
        self._keys = np.frombuffer(keys, np.uint64)[order]
        self._starts, self._ends = (np.frombuffer(starts, np.uint64)[order + more] for more in (0, 1))
        self._text = np.memmap(path, np.uint8, "r").data

    def words(self, keys: np.ndarray) -> Iterator[str]:
        """Yield the words that keys stand for."""
        different, places = np.unique(keys, return_inverse=True)
        numbers = np.searchsorted(self._keys, different)
        spans = zip(self._starts[numbers].tolist(), self._ends[numbers].tolist(), strict=True)
        words = [str(self._text[start:end], "utf-8") for start, end in spans]
        return map(words.__getitem__, places.tolist())
