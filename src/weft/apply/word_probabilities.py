"""Probabilities of words given the words that they are linked to, in the files of Moses and Marian (``lex.s2t``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from weft.apply.block_counts import BY_PAIR, NULL, WORD_PAIR, BlockCounts
from weft.progress import Progress
from weft.text.counting import Table, keys_of, summed
from weft.text.record_files import Lookup, RecordFile
from weft.text.sorted_lines import SortedLines
from weft.text.words import split_spaces

Side = Literal["source", "target"]
_TOTAL = np.dtype([("word", "u8"), ("count", "i8")])
_PLACE = np.dtype([("word", "u8"), ("start", "u8"), ("size", "u4")])  # of a word in a file
_BATCH = 100_000  # words


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
        vocabulary = _Vocabulary(self._words, self._folder)
        ordered = RecordFile(self._folder / "ordered-word-pairs", WORD_PAIR)
        turned = Table(self._folder / "turned-word-pairs", WORD_PAIR, ("target", "source"))
        totals = {side: Table(self._folder / f"{side}-words", _TOTAL, ("word",)) for side in BY_PAIR}
        progress.phase("sorting pairs of words", self._pairs.nbytes, "B")
        for pairs in self._pairs.read():
            progress.advance(pairs.nbytes)
            ordered.append(pairs)
            turned.add(pairs)
            for side, table in totals.items():
                table.add(summed(pairs[[side, "count"]].astype(_TOTAL), ("word",)))
        progress.phase("writing probabilities of words", 2 * ordered.nbytes, "B")
        for path, parts, side, given in (
            (forward, ordered.read(), "target", "source"),
            (backward, turned.read(), "source", "target"),
        ):
            known = Lookup(self._folder / f"{given}-totals", _TOTAL, "word", totals[given].read())
            with path.open("w", encoding="utf-8", newline="\n") as file:
                for pairs in parts:
                    progress.advance(pairs.nbytes)
                    file.writelines(_lines(pairs, side, given, known, vocabulary))


def _lines(pairs: np.ndarray, side: Side, given: Side, totals: Lookup, vocabulary: _Vocabulary) -> Iterator[str]:
    """Yield a line for each pair; ``totals`` are those of the given words."""
    # Rounded as the C++ programs round, which compute with single precision.
    probabilities = pairs["count"].astype(np.float32) / totals.find(pairs[given])["count"].astype(np.float32)
    words = vocabulary.words(pairs[side]), vocabulary.words(pairs[given])
    for word, known, probability in zip(*words, probabilities.tolist(), strict=True):
        yield f"{word} {known} {probability:.7f}\n"


class _Vocabulary:
    """The words that keys stand for, in a file."""

    def __init__(self, words: Iterable[str], folder: Path) -> None:
        """Words are shown without white space, which those of Arabic may have inside, as it is between columns."""
        self._text = folder / "vocabulary"
        places, end = Table(folder / "places", _PLACE, ("word",)), 0
        iterator = iter(words)
        with self._text.open("wb") as file:
            while batch := list(itertools.islice(iterator, _BATCH)):
                shown = ["".join(split_spaces(word)).encode() for word in batch]
                records = np.zeros(len(batch), _PLACE)
                records["word"], records["size"] = keys_of(batch), list(map(len, shown))
                ends = end + np.cumsum(records["size"], dtype=np.uint64)
                records["start"], end = ends - records["size"], ends[-1]
                file.writelines(shown)
                places.add(records)
        self._places = Lookup(folder / "vocabulary-places", _PLACE, "word", places.read())

    def words(self, keys: np.ndarray) -> Iterator[str]:
        """Yield the words that keys stand for."""
        different, numbers = np.unique(keys, return_inverse=True)
        places = self._places.find(different)
        words = []
        with self._text.open("rb") as file:
            for start, size in places[["start", "size"]].tolist():
                file.seek(start)
                words.append(file.read(size).decode())
        return map(words.__getitem__, numbers.tolist())
