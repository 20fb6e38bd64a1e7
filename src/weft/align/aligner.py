"""The small aligner: a stream of sentence pairs in, the same number of links out, in order. No torch.

A model folder holds config.json, model.onnx, tokenizer.json and README.md. The graph gives, for a batch of sentence
pairs, how much attention each piece pays to those of the other side, in both directions; where the mean of both is high
enough, there is a link.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime

from weft.config import TextConfig
from weft.errors import WeftError
from weft.settings import from_dict
from weft.text.described import read_description
from weft.text.links import Links
from weft.text.pairs import EncodedPair, WordPair, encode_pairs
from weft.text.subwords import END, PAD, Subwords

FORMAT = "weft aligner 1"
_WINDOW = 8_192  # pairs that are read ahead and sorted by length
_BATCH_TOKENS = 2_048
_STEP = 8  # sentences are filled up to a multiple of this


class Aligner:
    """A loaded model."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        """``threads``: 0 for as many as there are cores."""
        config = read_description(folder / "config.json", FORMAT, "model folder")
        where = f"{folder / 'config.json'}: text"
        self.subwords = Subwords.load(folder / "tokenizer.json", from_dict(TextConfig, config["text"], where))
        self.threshold = float(config["threshold"])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library has its own kinds for every failure
            problem = str(error).splitlines()[0]
            raise WeftError(f"{folder / 'model.onnx'}: not the graph of this model: {problem}") from None

    def align(self, pairs: Iterable[WordPair]) -> Iterator[Links]:
        """The links of pairs of words, reading some way ahead so that pairs of one shape share a batch."""
        iterator = iter(pairs)
        while window := list(itertools.islice(iterator, _WINDOW)):
            found: list[Links] = [frozenset()] * len(window)
            for batch in _batches(encode_pairs(window, self.subwords)):
                for pair, links in zip(batch, self._align_batch(batch), strict=True):
                    found[pair.number] = links
            yield from found

    def _align_batch(self, batch: list[EncodedPair]) -> list[Links]:
        source_length, target_length = _shape(batch[0])
        ids = {
            "source": _rows([pair.source.ids for pair in batch], source_length),
            "target": _rows([pair.target.ids for pair in batch], target_length),
        }
        both = self._session.run(["forward", "backward"], ids)
        forward, backward = (np.asarray(way) for way in both)  # (batch, target, source)
        words = [(side != PAD) & (side != END) for side in ids.values()]
        strong = (forward + backward) / 2 >= self.threshold
        cells = np.argwhere(strong & words[1][:, :, None] & words[0][:, None, :])
        links: list[set[tuple[int, int]]] = [set() for _ in batch]
        for row, target, source in cells.tolist():
            links[row].add((batch[row].source.words[source], batch[row].target.words[target]))
        return [frozenset(one) for one in links]


def is_small_aligner(folder: Path) -> bool:
    """Whether a model folder holds a small aligner and not a whole system."""
    try:
        return json.loads((folder / "config.json").read_text(encoding="utf-8")).get("format") == FORMAT
    except (OSError, ValueError, AttributeError):
        return False


def _shape(pair: EncodedPair) -> tuple[int, int]:
    """The room that a pair gets on both sides, end-of-sentence included; it depends on nothing but the pair.

    Pairs share a batch only if they have the same shape, so a pair is always computed in the same way.
    """
    source, target = (-(-(len(side.ids) + 1) // _STEP) * _STEP for side in (pair.source, pair.target))
    return source, target


def _batches(encoded: Iterable[EncodedPair]) -> Iterator[list[EncodedPair]]:
    """Pairs of one shape, as many as the budget of tokens allows."""
    by_shape: dict[tuple[int, int], list[EncodedPair]] = defaultdict(list)
    for pair in encoded:
        by_shape[_shape(pair)].append(pair)
    for shape, pairs in by_shape.items():
        size = max(1, _BATCH_TOKENS // max(shape))
        for first in range(0, len(pairs), size):
            yield pairs[first : first + size]


def _rows(sentences: list[list[int]], length: int) -> np.ndarray:
    """(batch, length) ids, each sentence with its end."""
    rows = np.full((len(sentences), length), PAD, np.int64)
    for row, ids in enumerate(sentences):
        rows[row, : len(ids)] = ids
        rows[row, len(ids)] = END
    return rows
