"""What a lexicon counts in a block of sentence pairs: linked words, phrase pairs, and where they stand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.align.alignment import Alignment
from weft.apply.phrases import Stretches, joined_keys, phrase_pairs
from weft.text.counting import keys_of, summed
from weft.text.words import Sentence

NULL = "NULL"  # stands for what words without links are linked to, as in the files of Moses and Marian
WORD_PAIR = np.dtype([("source", "u8"), ("target", "u8"), ("count", "i8")])
EXAMPLE = [  # fields that say where a phrase pair is found
    ("example", "u8"),  # where the line of its pair begins in the kept text; above that, a rank: lower is better
    ("source_first", "u4"),  # word of the phrase in the sentence
    ("target_first", "u4"),
    ("source_words", "u1"),  # how many the phrase has
    ("target_words", "u1"),
]
PHRASE_PAIR = np.dtype(
    [
        ("source", "u8"),  # key of the source phrase regardless of case
        ("target", "u8"),
        ("form", "u8"),  # key of both phrases as they are written
        ("count", "i8"),
        ("weight", "i8"),  # the sum of the probabilities of their weakest links, in thousandths
        *EXAMPLE,
    ]
)
BY_PAIR, BY_FORM = ("source", "target"), ("source", "target", "form")
EXAMPLE_BITS = 48  # of ``example`` that say where it is
UNIT = 1_000  # of weight: sums of whole numbers are the same in any order
_IDEAL_EXAMPLE = 120  # characters of both sides
_LAST_RANK = (1 << 16) - 1


@dataclass(frozen=True)
class BlockCounts:
    """Counts of a block of sentence pairs, and what is needed of its text."""

    pairs: int
    lengths: tuple[int, int]  # words of both sides
    words: list[str]  # each once
    word_pairs: np.ndarray  # of the type WORD_PAIR
    phrase_pairs: np.ndarray  # of the type PHRASE_PAIR
    text: bytes
    """Number, source and target of each pair, a line each; empty if no phrases are counted."""

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return self.pairs


class _Side:
    """The words of one side, one after the other."""

    def __init__(self, sentences: Sequence[Sentence], index: dict[str, int]) -> None:
        """Words get numbers in ``index``."""
        words = [one.words for one in sentences]
        self.lengths = np.array([len(one) for one in words], np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths  # of the sentences
        self.sentence = np.repeat(np.arange(len(words)), self.lengths)  # of each word
        self.weakest = np.ones(len(self.sentence))  # probability of the links of each word
        self.numbers = np.array([index.setdefault(word, len(index)) for one in words for word in one], np.int64)


def count_block(alignments: Iterable[Alignment], first_number: int, longest: int) -> BlockCounts:
    """Count linked words, and phrase pairs of at most ``longest`` words a side (0: none).

    ``first_number`` is that of the first sentence pair.
    """
    found = list(alignments)
    index: dict[str, int] = {NULL: 0}
    source, target = _Side([one.source for one in found], index), _Side([one.target for one in found], index)
    flat = itertools.chain.from_iterable(itertools.chain.from_iterable(one.probabilities for one in found))
    links = np.fromiter(flat, np.int64).reshape(-1, 2)
    times = [len(one.probabilities) for one in found]
    links += np.repeat(np.stack([source.starts, target.starts], axis=1), times, axis=0)
    keys = keys_of(index)
    text, phrases = b"", np.zeros(0, PHRASE_PAIR)
    if longest:
        text, examples = _kept_text(found, first_number)
        probabilities = itertools.chain.from_iterable(one.probabilities.values() for one in found)
        np.minimum.at(source.weakest, links[:, 0], np.fromiter(probabilities, np.float64))
        stretches = phrase_pairs(links, source.lengths, target.lengths, longest)
        phrases = _count_phrases((source, target), stretches, index, keys, examples)
    lengths = len(source.numbers), len(target.numbers)
    return BlockCounts(len(found), lengths, list(index), _count_words((source, target), links, keys), phrases, text)


def _count_words(sides: tuple[_Side, _Side], links: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Count linked words; those without links are linked to word 0, NULL."""
    alone = [np.delete(side.numbers, links[:, place]) for place, side in enumerate(sides)]
    sources = [sides[0].numbers[links[:, 0]], alone[0], np.zeros_like(alone[1])]
    targets = [sides[1].numbers[links[:, 1]], np.zeros_like(alone[0]), alone[1]]
    records = np.ones(sum(map(len, sources)), WORD_PAIR)
    records["source"], records["target"] = keys[np.concatenate(sources)], keys[np.concatenate(targets)]
    return summed(records, BY_PAIR)


def _count_phrases(
    sides: tuple[_Side, _Side],
    stretches: tuple[Stretches, Stretches],
    index: Iterable[str],
    keys: np.ndarray,
    examples: np.ndarray,
) -> np.ndarray:
    """Count pairs of stretches all of whose words have letters; ``examples`` are those of all sentence pairs."""
    has_none = np.array([not any(map(str.isalpha, word)) for word in index])
    good = np.ones(len(stretches[0].first), bool)
    for side, (first, words) in zip(sides, stretches, strict=True):
        before = np.cumsum(np.append(0, has_none[side.numbers]))  # such words before each word
        good &= before[first] == before[first + words]
    lower = keys_of(word.lower() for word in index)
    records = np.ones(int(good.sum()), PHRASE_PAIR)
    forms = []
    for name, side, found in zip(("source", "target"), sides, stretches, strict=True):
        chosen = found.chosen(good)
        sentence = side.sentence[chosen.first]
        records[name] = chosen.keys(lower[side.numbers])
        records[f"{name}_first"] = chosen.first - side.starts[sentence]
        records[f"{name}_words"] = chosen.words
        records["example"] = examples[sentence]
        forms.append(chosen.keys(keys[side.numbers]))
    records["form"] = joined_keys(*forms)
    records["weight"] = np.rint(stretches[0].chosen(good).least(sides[0].weakest) * UNIT)
    return summed(records, BY_FORM)


def _kept_text(found: Sequence[Alignment], first_number: int) -> tuple[bytes, np.ndarray]:
    """Return the lines of all pairs, and what the field ``example`` has for each."""
    lines, examples, start = [], [], 0
    for number, one in enumerate(found, first_number):
        source, target = (side.text.replace("\t", " ").replace("\n", " ") for side in (one.source, one.target))
        lines.append(f"{number}\t{source}\t{target}\n".encode())
        rank = min(abs(len(source) + len(target) - _IDEAL_EXAMPLE), _LAST_RANK)
        examples.append(rank << EXAMPLE_BITS | start)
        start += len(lines[-1])
    return b"".join(lines), np.array(examples, np.uint64)
