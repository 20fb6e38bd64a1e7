"""Joint byte pair encoding: text becomes pieces, and every piece knows the words that it is part of.

What is cut into pieces are units (``units``), spelled as models see them (``spelling``). The alphabet is the 256 byte
values, so any character of any script can be encoded, seen in training or not. The first piece of a unit begins with a
marked space; units of scripts without spaces between words have no such mark, so that a character is spelled in one way
wherever it stands.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Encoding, Tokenizer, models, pre_tokenizers, trainers

from weft.config import TextConfig
from weft.errors import WeftError, printable
from weft.storage import read_bytes, write_text
from weft.text.spelling import Remembered, Spelled, Speller
from weft.text.units import Span, chunk_spans, chunks, has_unspaced, may_join
from weft.text.words import Sentence, raw_word_spans, split_spaces

PAD = 0  # fills rows
END = 1  # ends every sentence, starts the decoder, and is the null word of alignments
_SPECIAL = ("⟨pad⟩", "⟨/s⟩")  # in letters that spell no bytes: a piece of text never has the same spelling
_MARK = "Ġ"  # how the byte-level alphabet writes the space at the beginning of a unit
_PRIVATE = 0xF0000  # the first of Unicode's characters for private use
_LEAST_FREQUENCY = 4  # of two pieces that become one when a vocabulary is extended
_BETWEEN = (0, 0)  # stands for the span of the line feed between units
_MOST_CHARACTERS = 10_000
_MOST_UNITS = 100_000_000  # to learn merges from
_REPEATED_AT_ONCE = 1_000
_MOST_BYTES = 50_000_000  # of a tokenizer file


class Pieces(NamedTuple):
    """The pieces of a sentence and, for each of them, the first and the last word that it is part of."""

    ids: np.ndarray
    first: np.ndarray
    last: np.ndarray  # the same array as ``first`` if each piece is part of one word


class RawChunk(NamedTuple):
    """The pieces of a stretch of running text, their first and last words, and how many words it has."""

    ids: Sequence[int]
    first: Sequence[int]
    last: Sequence[int]
    words: int


class Cut(NamedTuple):
    """The pieces of a text and their character spans."""

    ids: list[int]
    starts: list[int]
    ends: list[int]


class Subwords:
    """The vocabulary of a prepared corpus or a model, with the normalisation that belongs to it."""

    def __init__(self, tokenizer: Tokenizer, text: TextConfig) -> None:
        self.text = text
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        self._speller = Speller(text)
        self._ids_of_word = Remembered(self._cut_word)
        self._cut_of_chunk = Remembered(self._cut_chunk)
        self._raw_chunks = Remembered(self._cut_raw)
        self.spellings = [tokenizer.id_to_token(index) or "" for index in range(tokenizer.get_vocab_size())]

    @classmethod
    def learn(cls, units: Mapping[str, int], merges: int, text: TextConfig) -> Subwords:
        """Learn ``merges`` merges from spelled units and how often each occurs.

        A text too small for so many gives fewer; see ``merges`` of the result.
        """
        learner = Tokenizer(models.BPE())
        learner.pre_tokenizer = pre_tokenizers.Split("\n", "removed")  # pyrefly: ignore
        size = merges + _MOST_CHARACTERS  # the library counts different characters as well
        trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, min_frequency=2)  # pyrefly: ignore
        learner.train_from_iterator(_repeated(units), trainer)
        learned = _byte_merges(units, json.loads(learner.to_str())["model"]["merges"], merges)
        alphabet = sorted(_BYTE_OF_CHARACTER)
        # The special symbols are entries of the vocabulary but no "added tokens" of the library, which it would find
        # inside users' text.
        pieces = dict.fromkeys((*_SPECIAL, *alphabet, *map("".join, learned)))
        vocabulary = {piece: index for index, piece in enumerate(pieces)}
        return cls(_plain_tokenizer(models.BPE(vocabulary, learned)), text)

    def extended(self, words: Mapping[tuple[int, ...], int], merges: int) -> tuple[Subwords, list[tuple[int, ...]]]:
        """Learn so many merges more from words, given as their pieces, and how often each is there.

        Returns the larger vocabulary, in which pieces keep their numbers, and the pieces that each new one is made of.
        """
        # For the library each piece is a character of its own.
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "removed")
        alphabet = sorted({chr(_PRIVATE + piece) for word in words for piece in word})
        trainer = trainers.BpeTrainer(  # pyrefly: ignore
            vocab_size=len(alphabet) + merges,
            initial_alphabet=alphabet,
            show_progress=False,
            min_frequency=_LEAST_FREQUENCY,
        )
        spelled = ("".join(chr(_PRIVATE + piece) for piece in word) + "\n" for word in words)
        tokenizer.train_from_iterator(
            (one * count for one, count in zip(spelled, words.values(), strict=True)), trainer
        )
        model = json.loads(self._tokenizer.to_str())["model"]
        vocabulary, merged = model["vocab"], [tuple(merge) for merge in model["merges"]]
        made_of = []
        for pair in json.loads(tokenizer.to_str())["model"]["merges"]:
            halves = [[ord(character) - _PRIVATE for character in half] for half in pair]
            merged.append(tuple("".join(self.spellings[piece] for piece in half) for half in halves))
            if vocabulary.setdefault("".join(merged[-1]), len(vocabulary)) == len(self) + len(made_of):
                made_of.append(tuple(halves[0] + halves[1]))
        return Subwords(_plain_tokenizer(models.BPE(vocabulary, merged)), self.text), made_of

    @classmethod
    def load(cls, path: Path, text: TextConfig, size: int | None = None) -> Subwords:
        """Read a vocabulary from a file; it must have ``size`` entries if that is given."""
        content = read_bytes(path, _MOST_BYTES)
        try:
            tokenizer = Tokenizer.from_buffer(content)
        except Exception as error:  # the library raises bare Exceptions
            raise WeftError(f"{path}: not a tokenizer file: {printable(str(error)[:200], keep='')}") from None
        subwords = cls(tokenizer, text)
        pieces = subwords.spellings[len(_SPECIAL) :]
        if tuple(subwords.spellings[: len(_SPECIAL)]) != _SPECIAL or not _BYTE_OF_CHARACTER.keys() <= set(pieces):
            raise WeftError(f"{path}: not a tokenizer of weft (it must have {', '.join(_SPECIAL)} and the 256 bytes)")
        if "" in pieces:  # then other pieces have numbers beyond the vocabulary
            raise WeftError(f"{path}: not a tokenizer of weft (the numbers of its pieces have gaps)")
        if _rules(tokenizer) != _rules(_plain_tokenizer(models.BPE())):
            raise WeftError(f"{path}: not a tokenizer of weft (it has rules of its own)")
        if size is not None and len(subwords) != size:
            raise WeftError(f"{path}: has {len(subwords):,} pieces, but config.json says {size}")
        return subwords

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        write_text(path, self._tokenizer.to_str())

    def __len__(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.spellings)

    @functools.cached_property
    def starts_word(self) -> np.ndarray:
        """True for pieces that begin a unit, and for all of scripts without spaces between words. (vocabulary,)"""
        texts = [self.decode([piece]) for piece in range(len(self))]
        return np.array([one.startswith(_MARK) for one in self.spellings]) | [has_unspaced(text[:1]) for text in texts]

    @property
    def merges(self) -> int:
        return len(self) - len(_SPECIAL) - 256

    def merge_table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all that merging needs: the pieces of the 256 bytes, and for each merge the pieces that it joins and
        the piece that they become, in the order in which they were learned. (256,) and (merges, 3)"""
        model = json.loads(self._tokenizer.to_str())["model"]
        number = model["vocab"]
        merges = [(number[left], number[right], number[left + right]) for left, right in model["merges"]]
        single = [number[_CHARACTER_OF_BYTE[byte]] for byte in range(256)]
        return np.array(single, np.uint32), np.array(merges, np.uint32).reshape(-1, 3)

    def encode(self, sentence: Sentence) -> Pieces:
        """Return the pieces of a sentence, without the end-of-sentence symbol."""
        return self.encode_all([sentence])[0]

    def encode_all(self, sentences: Sequence[Sentence]) -> list[Pieces]:
        """Return the pieces of each sentence, which takes less time for many together."""
        spaced = [number for number, one in enumerate(sentences) if not one.raw]
        running = [number for number, one in enumerate(sentences) if one.raw and one.given is None]
        found = dict(zip(spaced, self._of_words([sentences[number].words for number in spaced]), strict=True))
        found |= zip(running, self._of_chunks([chunks(sentences[number].text) for number in running]), strict=True)
        return [
            found.get(number) or _owned(self.cut(one.text), one.spans)  # also if units may cross its white space
            for number, one in enumerate(sentences)
        ]

    def _of_words(self, sentences: list[list[str]]) -> list[Pieces | None]:
        """Return the pieces of sentences of words; None where they may depend on the words beside."""
        found = [*map(self._ids_of_word.__getitem__, itertools.chain.from_iterable(sentences))]
        known = [pieces or () for pieces in found]
        words, pieces = _counts(sentences), _counts(known)
        first = np.repeat(_places(words), pieces)
        cut: list[Pieces | None] = [*_split(_joined(known), first, first, _sums(pieces, words))]
        if None in found:
            numbers = np.repeat(np.arange(len(sentences)), words)
            for number in numbers[[pieces is None for pieces in found]]:
                cut[number] = None
        return cut

    def _of_chunks(self, sentences: list[list[str]]) -> list[Pieces]:
        """Return the pieces of sentences of running text, given in chunks."""
        found = [*map(self._raw_chunks.__getitem__, itertools.chain.from_iterable(sentences))]
        chunks, pieces = _counts(sentences), _counts([chunk.ids for chunk in found])
        words = np.array([chunk.words for chunk in found], int)
        of_sentence = _sums(words, chunks)
        before = np.cumsum(words) - words - np.repeat(np.cumsum(of_sentence) - of_sentence, chunks)  # in its sentence
        before = np.repeat(before, pieces)
        first = last = (_joined([chunk.first for chunk in found]) + before).astype(np.int32)
        if any(chunk.last is not chunk.first for chunk in found):
            last = (_joined([chunk.last for chunk in found]) + before).astype(np.int32)
        return [*_split(_joined([chunk.ids for chunk in found]), first, last, _sums(pieces, chunks))]

    def ids(self, text: str) -> list[int]:
        """Return the pieces of a text, without the end-of-sentence symbol."""
        ids: list[int] = []
        for word in split_spaces(text):
            pieces = self._ids_of_word[word]
            if pieces is None:
                return self.cut(text).ids
            ids += pieces
        return ids

    def cut(self, text: str) -> Cut:
        """Return the pieces of a text and their places."""
        ids, starts, ends = Cut([], [], [])
        for begin, end in chunk_spans(text):
            chunk = self._cut_of_chunk[text[begin:end]]
            ids += chunk.ids
            starts += [begin + place for place in chunk.starts]
            ends += [begin + place for place in chunk.ends]
        return Cut(ids, starts, ends)

    def _cut_word(self, word: str) -> tuple[int, ...] | None:
        """Return the pieces of a word between white space; None if they may depend on the words beside it."""
        if may_join(word):
            return None
        ids: list[int] = []
        for unit in self._speller.spell(word):  # without places, which the whole tokenizer finds as well, in more time
            ids += [piece.id for piece in self._model.tokenize(_in_bytes(unit.text))]
        return tuple(ids)

    def _cut_chunk(self, chunk: str) -> Cut:
        units = self._speller.spell(chunk)
        pieces = self._pieces(units)
        spans = [span for unit in units for span in (*unit.spans(), _BETWEEN)]  # of each character that was encoded
        starts = [spans[first][0] for first, _ in pieces.offsets]
        return Cut(pieces.ids, starts, [spans[last - 1][1] for _, last in pieces.offsets])

    def _cut_raw(self, chunk: str) -> RawChunk:
        words = raw_word_spans(chunk)
        ids, first, last = (array.tolist() for array in _owned(self._cut_chunk(chunk), words))
        return RawChunk(ids, first, first if last == first else last, len(words))

    def _pieces(self, units: list[Spelled]) -> Encoding:
        return self._tokenizer.encode("\n".join([unit.text for unit in units]), add_special_tokens=False)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text that pieces spell, without special symbols; bytes that are no UTF-8 become �."""
        spelling = "".join(self.spellings[index] for index in ids if index >= len(_SPECIAL))
        return bytes(map(_BYTE_OF_CHARACTER.__getitem__, spelling)).decode("utf-8", errors="replace").strip(" ")


def _owned(cut: Cut, words: Sequence[Span]) -> Pieces:
    """Find the words that pieces are part of."""
    starts, ends = np.array(words, int).reshape(-1, 2).T
    first = np.searchsorted(ends, cut.starts, "right").astype(np.int32)
    last = np.searchsorted(starts, cut.ends).astype(np.int32) - 1
    return Pieces(np.array(cut.ids, np.int32), first, last)


def _counts(lists: Sequence[Sized]) -> np.ndarray:
    return np.fromiter(map(len, lists), int, len(lists))


def _joined(lists: Iterable[Iterable[int]]) -> np.ndarray:
    return np.fromiter(itertools.chain.from_iterable(lists), np.int32)


def _places(counts: np.ndarray) -> np.ndarray:
    """Return 0, 1, … for each group of so many, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(counts.sum(), dtype=np.int32) - np.repeat((ends - counts).astype(np.int32), counts)


def _sums(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the sum of each group of so many values, one after the other."""
    return np.diff(np.append(0, np.cumsum(values))[np.append(0, np.cumsum(counts))])


def _split(ids: np.ndarray, first: np.ndarray, last: np.ndarray, counts: np.ndarray) -> Iterator[Pieces]:
    """Yield the pieces of each sentence, which has so many."""
    begin, each_of_one = 0, last is first
    for end in np.cumsum(counts).tolist():
        own = first[begin:end]
        yield Pieces(ids[begin:end], own, own if each_of_one else last[begin:end])
        begin = end


def _repeated(units: Mapping[str, int]) -> Iterator[str]:
    """Yield text that has each unit as often as it was counted; of many units, all in proportion."""
    share = min(1.0, _MOST_UNITS / max(1, sum(units.values())))
    for unit, count in units.items():
        left = round(count * share)
        while left > 0:
            yield "\n".join(itertools.repeat(unit, min(left, _REPEATED_AT_ONCE)))
            left -= _REPEATED_AT_ONCE


def _byte_merges(units: Mapping[str, int], learned: list[list[str]], most: int) -> list[tuple[str, str]]:
    """Return merges of bytes to ``most`` pieces, given merges of characters.

    The bytes of frequent characters are merged first, so that no piece begins or ends inside of one of them.
    """
    counts: Counter[str] = Counter()
    for unit, count in units.items():
        if not unit.isascii():
            for character in unit:
                counts[character] += count
    frequent = [one for one, count in counts.most_common() if count > 1 and not one.isascii()][: most // 5]
    spelled = [_in_bytes(character) for character in frequent]
    merges = [(one[:place], one[place]) for one in spelled for place in range(1, len(one))]
    known = set(frequent)
    for left, right in learned:
        if all(one.isascii() or one in known for one in left + right):
            merges.append((_in_bytes(left), _in_bytes(right)))
    pieces = set(itertools.islice(dict.fromkeys(map("".join, merges)), most))  # there may be several ways to one piece
    return [merge for merge in dict.fromkeys(merges) if "".join(merge) in pieces]


def _in_bytes(text: str) -> str:
    """Return how the byte-level alphabet writes a text."""
    return text.encode().decode("latin-1").translate(_CHARACTER_OF_BYTE)


def _plain_tokenizer(merges: models.BPE) -> Tokenizer:
    """Make a tokenizer of units between line feeds, spelled in bytes, then merged."""
    tokenizer = Tokenizer(merges)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("\n", "removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def _rules(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the description of a tokenizer without its vocabulary."""
    described = json.loads(tokenizer.to_str())
    described["model"] = {name: value for name, value in described["model"].items() if name not in {"vocab", "merges"}}
    return described


def _characters_of_bytes() -> Iterator[tuple[str, int]]:
    """Yield the byte-level alphabet: printable bytes stand for themselves, others for characters from U+0100 on."""
    unprintable = 0
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
            yield chr(byte), byte
        else:
            yield chr(256 + unprintable), byte
            unprintable += 1


_BYTE_OF_CHARACTER = dict(_characters_of_bytes())
_CHARACTER_OF_BYTE = {byte: character for character, byte in _BYTE_OF_CHARACTER.items()}
