"""Joint byte pair encoding: words become pieces, and every piece knows its word.

The alphabet is the 256 byte values, so any character of any script can be encoded, seen in training or not. The first
piece of a word, and no other, begins with a marked space: the word of each piece can be read off the ids alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from weft.config import TextConfig
from weft.errors import WeftError, printable
from weft.storage import read_bytes, write_text
from weft.text.words import normaliser

PAD = 0  # fills rows
END = 1  # ends every sentence, starts the decoder, and is the null word of alignments
_SPECIAL = ("⟨pad⟩", "⟨/s⟩")  # in letters that spell no bytes: a piece of text never has the same spelling
_MARK = "Ġ"  # how the byte-level alphabet writes the space in front of a word
_CACHED_WORDS = 200_000  # words repeat
_LONGEST_CACHED = 100  # characters: longer words hardly repeat, and would fill the memory
_PRIVATE = 0xF0000  # the first of Unicode's characters for private use
_LEAST_FREQUENCY = 4  # of two pieces that become one when a vocabulary is extended
_MOST_BYTES = 50_000_000  # of a tokenizer file


class Pieces(NamedTuple):
    """The pieces of a sentence and, for each of them, the number of its word."""

    ids: list[int]
    words: list[int]


class Subwords:
    """The vocabulary of a prepared corpus or a model, with the normalisation that belongs to it."""

    def __init__(self, tokenizer: Tokenizer, text: TextConfig) -> None:
        self.text = text
        self._tokenizer = tokenizer
        self._normalise = normaliser(text)
        self._cache: dict[str, tuple[int, ...]] = {}
        self.spellings = [tokenizer.id_to_token(index) or "" for index in range(tokenizer.get_vocab_size())]
        self.starts_word = np.array([spelling.startswith(_MARK) for spelling in self.spellings])  # (vocabulary,)

    @classmethod
    def learn(cls, sentences: Iterable[str], merges: int, text: TextConfig) -> Subwords:
        """Learn ``merges`` merges from sentences whose words are normalised and stand between single spaces.

        A text too small for so many gives fewer; see ``merges`` of the result.
        """
        tokenizer = _plain_tokenizer(models.BPE())
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(  # pyrefly: ignore
            vocab_size=merges + len(alphabet), initial_alphabet=alphabet, show_progress=False, min_frequency=2
        )
        tokenizer.train_from_iterator(sentences, trainer)
        # The special symbols are entries of the vocabulary but no "added tokens" of the library, which it would find
        # inside users' text.
        learned = json.loads(tokenizer.to_str())["model"]
        vocabulary = {symbol: index for index, symbol in enumerate(_SPECIAL)}
        vocabulary.update({piece: index + len(_SPECIAL) for piece, index in learned["vocab"].items()})
        merged = models.BPE(vocabulary, [tuple(merge) for merge in learned["merges"]])
        return cls(_plain_tokenizer(merged), text)

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

    @property
    def merges(self) -> int:
        return len(self) - len(_SPECIAL) - 256

    def pieces_of_word(self, word: str) -> tuple[int, ...]:
        """Return the piece ids of one word as the user wrote it.

        Half a surrogate pair, which Python strings may hold though it is no character, counts as �.
        """
        pieces = self._cache.get(word)
        if pieces is None:
            normalised = self._normalise(word)
            if not normalised.isascii():
                normalised = normalised.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            pieces = tuple(self._tokenizer.encode(normalised, add_special_tokens=False).ids)
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            if len(word) <= _LONGEST_CACHED:
                self._cache[word] = pieces
        return pieces

    def encode(self, words: Iterable[str]) -> Pieces:
        """Return the pieces of a sentence, without the end-of-sentence symbol."""
        ids: list[int] = []
        owners: list[int] = []
        for index, word in enumerate(words):
            pieces = self.pieces_of_word(word)
            ids.extend(pieces)
            owners.extend([index] * len(pieces))
        return Pieces(ids, owners)

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words that pieces spell, without special symbols; bytes that are no UTF-8 become �."""
        spelling = "".join(self.spellings[index] for index in ids if index >= len(_SPECIAL))
        text = bytes(_BYTE_OF_CHARACTER[character] for character in spelling).decode("utf-8", errors="replace")
        return [word for word in text.split(" ") if word]


def _plain_tokenizer(merges: models.BPE) -> Tokenizer:
    """Make a tokenizer of words between single spaces: a marked space before each, spelled in bytes, then merged."""
    tokenizer = Tokenizer(merges)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(" ", "removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
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
