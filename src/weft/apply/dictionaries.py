"""A dictionary made of counted phrase pairs.

An entry is a word or a phrase and a translation of it, regardless of case, shown as it is written most often. Its
occurrences count by the probability of their weakest link. Its strength is p(target | source) · √p(source | target),
where the target is taken to be seen five times more without the source: the translation of everything is a bad one, and
a word that is seen once may be the translation of anything.

A phrase of several words is in a dictionary only if it holds together: its first word and the rest of it meet far more
often than by chance, and so do its last word and the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from weft.apply.block_counts import BY_FORM, BY_PAIR, EXAMPLE, EXAMPLE_BITS, PHRASE_PAIR, UNIT, BlockCounts
from weft.apply.phrases import Stretches
from weft.progress import Progress
from weft.text.counting import Table, group_starts, group_sums, keys_of, summed, whole_groups
from weft.text.record_files import Lookup, RecordFile
from weft.text.sorted_lines import SortedLines
from weft.text.words import Sentence

_PHRASE = np.dtype([("phrase", "u8"), ("count", "i8"), ("weight", "i8")])  # in all its pairs
_PAIR = np.dtype(  # a phrase pair regardless of case, and the weights of both phrases in all their pairs
    [
        *((name, "u8") for name in ("source", "target")),
        *((name, "i8") for name in ("count", "weight", "source_weight", "target_weight")),
        *EXAMPLE,
    ]
)
_PRIOR = 5  # occurrences of every target elsewhere: one that is seen once is no sure translation of anything
_BATCH = 10_000  # pairs that are looked up in the text together
_LONGEST_EXAMPLE = 2_000  # characters of both sides; longer ones are not shown


class Entry(NamedTuple):
    """An entry of a dictionary, with an example."""

    source: str
    target: str
    count: int
    forward: float
    """p(target | source)"""
    backward: float
    """p(source | target)"""
    line: int
    """That of the example."""
    source_example: str
    """Empty, as the other, if both are too long to be shown."""
    target_example: str


@dataclass(frozen=True)
class Least:
    """What a phrase pair needs at least to be an entry."""

    count: int = 1
    """How often two single words are translations of each other."""
    phrase_count: int = 3
    """The same if one of them is a phrase of several words."""
    strength: float = 0.01
    cohesion: float = 6.0
    """How much more often than by chance the parts of a phrase meet, in bits: 6 are 64 times as often."""


class PhraseCounts:
    """How often phrases are translations of each other."""

    def __init__(self, folder: Path, raw: bool) -> None:
        """``folder``, an empty one, takes what memory does not hold; ``raw``: words are those of running text."""
        self._folder, self._raw = folder, raw
        self._forms = Table(folder / "phrase-pairs", PHRASE_PAIR, BY_FORM)
        self._text = folder / "text"
        self._text.touch()
        self._text_bytes = 0
        self._lengths = np.zeros(2, np.int64)  # words of both sides

    def add(self, block: BlockCounts) -> None:
        """Add the counts of a block."""
        forms = block.phrase_pairs.copy()
        forms["example"] += np.uint64(self._text_bytes)
        self._forms.add(forms)
        with self._text.open("ab") as file:
            self._text_bytes += file.write(block.text)
        self._lengths += block.lengths

    def entries(self, least: Least, progress: Progress) -> Iterator[Entry]:
        """Yield the entries of a dictionary, those of one source one after the other, strong ones first."""
        phrases = {side: Table(self._folder / f"{side}-phrases", _PHRASE, ("phrase",)) for side in BY_PAIR}
        frequent = RecordFile(self._folder / "frequent", _PAIR)
        progress.phase("sorting phrases", self._forms.nbytes, "B")
        for forms in whole_groups(self._forms.read(), BY_PAIR):
            pairs = _regardless_of_case(forms)
            for side, table in phrases.items():
                table.add(summed(pairs[[side, "count", "weight"]].astype(_PHRASE), ("phrase",)))
            frequent.append(pairs[_are_frequent(pairs, least)])
            progress.advance(forms.nbytes)
        source, target = (
            Lookup(self._folder / f"{side}-totals", _PHRASE, "phrase", table.read()) for side, table in phrases.items()
        )
        candidates = Table(self._folder / "candidates", _PAIR, ("target", "source"))
        progress.phase("choosing phrases", frequent.nbytes, "B")
        for pairs in frequent.read():
            pairs["source_weight"] = source.find(pairs["source"])["weight"]
            candidates.add(pairs[pairs["weight"] > least.strength * pairs["source_weight"]])
            progress.advance(pairs.nbytes)
        lines = SortedLines(self._folder, "entries")
        progress.phase("looking entries up in the text", candidates.nbytes // _PAIR.itemsize, "entries")
        with self._text.open("rb") as text:
            for pairs in candidates.read():
                pairs["target_weight"] = target.find(pairs["target"])["weight"]
                chosen = pairs[_strengths(pairs) >= least.strength]
                for first in range(0, len(chosen), _BATCH):
                    batch = chosen[first : first + _BATCH]
                    lines.add(self._sortable(batch, text, (source, target), least.cohesion))
                progress.advance(len(pairs))
        for line in lines:
            yield Entry(*json.loads(line.split("\t")[2]))

    def _sortable(
        self, pairs: np.ndarray, text: IO[bytes], totals: tuple[Lookup, Lookup], cohesion: float
    ) -> Iterator[str]:
        """Yield entries as lines that begin with what they are sorted by: source and strength."""
        places = pairs["example"] & np.uint64((1 << EXAMPLE_BITS) - 1)
        order = np.argsort(places)  # so that the text is read from its beginning to its end
        pairs, places = pairs[order], places[order].tolist()
        example, shown = _Example.at(0, text, self._raw), []
        for pair, place in zip(pairs[list(_Found._fields)].tolist(), places, strict=True):
            if place != example.place:
                example = _Example.at(place, text, self._raw)
            shown.append(_show(_Found(*pair), example))
        bits = [
            _cohesion([one.words[side] for one in shown], totals[side], int(self._lengths[side])) for side in (0, 1)
        ]
        for one, strength, least in zip(shown, _strengths(pairs).tolist(), np.minimum(*bits), strict=True):
            if least >= cohesion:
                yield f"{one.entry.source.lower()}\t{1 - strength:.9f}\t{json.dumps(one.entry, ensure_ascii=False)}"


class _Found(NamedTuple):
    """What is known of a pair before it is looked up, as in ``_PAIR``."""

    count: int
    weight: int
    source_weight: int
    target_weight: int
    source_first: int
    source_words: int
    target_first: int
    target_words: int


class _Example(NamedTuple):
    """A sentence pair of the text."""

    place: int
    line: int
    sides: tuple[Sentence, Sentence]
    texts: tuple[str, str]  # as they are shown

    @classmethod
    def at(cls, place: int, text: IO[bytes], raw: bool) -> _Example:
        text.seek(place)
        line, source, target = text.readline().decode().rstrip("\n").split("\t")
        shown = (_one_space(source), _one_space(target))
        if sum(map(len, shown)) > _LONGEST_EXAMPLE:
            shown = ("", "")
        return cls(place, int(line), (Sentence.from_text(source, raw), Sentence.from_text(target, raw)), shown)


class _Shown(NamedTuple):
    """A pair as an entry."""

    entry: Entry
    words: tuple[list[str], list[str]]  # of both phrases, in lower case


def _show(pair: _Found, example: _Example) -> _Shown:
    source, source_words = _phrase(example.sides[0], pair.source_first, pair.source_words)
    target, target_words = _phrase(example.sides[1], pair.target_first, pair.target_words)
    forward, backward = pair.weight / pair.source_weight, pair.weight / pair.target_weight
    entry = Entry(source, target, pair.count, forward, backward, example.line, *example.texts)
    return _Shown(entry, (source_words, target_words))


def _phrase(sentence: Sentence, first: int, size: int) -> tuple[str, list[str]]:
    """Return some words of a sentence as they are written, and in lower case."""
    words = sentence.words[first : first + size]
    if sentence.raw:
        written = sentence.text[sentence.spans[first][0] : sentence.spans[first + size - 1][1]]
    else:
        written = " ".join(words)
    return _one_space(written), [word.lower() for word in words]


def _one_space(text: str) -> str:
    return " ".join(text.split())


def _regardless_of_case(forms: np.ndarray) -> np.ndarray:
    """Return a pair for all its forms, with the example of the most frequent one."""
    ordered = forms[np.lexsort([-forms["count"], forms["target"], forms["source"]])]
    starts = group_starts(ordered["source"], ordered["target"])
    pairs = np.zeros(len(starts), _PAIR)
    for name in ("source", "target", *(name for name, _ in EXAMPLE)):
        pairs[name] = ordered[name][starts]
    for name in ("count", "weight"):
        pairs[name] = group_sums(ordered[name], starts)
    return pairs


def _are_frequent(pairs: np.ndarray, least: Least) -> np.ndarray:
    """Return which pairs are frequent enough to be entries."""
    is_phrase = np.maximum(pairs["source_words"], pairs["target_words"]) > 1
    return pairs["count"] >= np.where(is_phrase, least.phrase_count, least.count)


def _strengths(pairs: np.ndarray) -> np.ndarray:
    forward = pairs["weight"] / pairs["source_weight"]
    return forward * np.sqrt(pairs["weight"] / (pairs["target_weight"] + _PRIOR * UNIT))


def _cohesion(phrases: Sequence[list[str]], totals: Lookup, text_words: int) -> np.ndarray:
    """Return how much more often than by chance the parts of phrases meet, in bits; infinite for single words."""
    keys = keys_of(word for words in phrases for word in words)
    words = np.array([len(words) for words in phrases])
    first = np.cumsum(words) - words
    one, rest = np.ones_like(words), words - 1

    def counts(first: np.ndarray, words: np.ndarray) -> np.ndarray:
        return totals.find(Stretches(first, words).keys(keys))["count"]

    whole = np.maximum(counts(first, words), 1)
    splits = (((first, one), (first + 1, rest)), ((first, rest), (first + rest, one)))
    bits = []
    for parts in splits:
        left, right = (np.maximum(counts(*part), whole) for part in parts)  # a part that is in no pair alone is rare
        bits.append(np.log2(whole * (text_words / left / right)))
    return np.where(words > 1, np.minimum(*bits), np.inf)
