"""A stream of sentences in, the same number of translations out, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from weft.model.folder import LoadedModel
from weft.model.search import beam_search, greedy_search
from weft.model.translation import LONGEST_SENTENCE
from weft.text.subwords import END, PAD
from weft.text.words import join_words, split_words

_READ_AHEAD = 2_000  # sentences that are sorted by length together


class Translator:
    """Translates text with a loaded model: words, normalisation and pieces are those of its training."""

    def __init__(self, loaded: LoadedModel, beam: int = 5, batch_tokens: int = 4_000) -> None:
        self._loaded, self._beam, self._batch_tokens = loaded, beam, batch_tokens
        self._device = next(loaded.model.parameters()).device
        self.shortened = 0
        """Sentences that were too long for the model and lost their ends."""

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Translate a stream, reading some way ahead so that sentences of one length share a batch."""
        iterator = iter(lines)
        while window := list(itertools.islice(iterator, _READ_AHEAD)):
            yield from self._translate_window(window)

    def _translate_window(self, lines: list[str]) -> list[str]:
        sentences = [self._encode(line) for line in lines]
        translations = [""] * len(lines)
        wanted = sorted((index for index, ids in enumerate(sentences) if ids), key=lambda index: len(sentences[index]))
        for batch in self._batches(wanted, sentences):
            source = torch.full((len(batch), max(len(sentences[index]) for index in batch) + 1), PAD)
            for row, index in enumerate(batch):
                source[row, : len(sentences[index]) + 1] = torch.tensor([*sentences[index], END])
            for index, ids in zip(batch, self._search(source.to(self._device)), strict=True):
                words = self._loaded.subwords.decode(ids)
                translations[index] = join_words(words, self._loaded.text.tokenisation, self._loaded.languages[1])
        return translations

    def _encode(self, line: str) -> list[int]:
        words = split_words(line, self._loaded.text.tokenisation, self._loaded.languages[0])
        ids = self._loaded.subwords.encode(words).ids
        if len(ids) >= LONGEST_SENTENCE:
            self.shortened += 1
        return ids[: LONGEST_SENTENCE - 1]

    def _batches(self, order: list[int], sentences: list[list[int]]) -> Iterator[list[int]]:
        """Consecutive sentences of rising length, as many as the budget of tokens allows."""
        batch: list[int] = []
        for index in order:
            if batch and (len(batch) + 1) * (len(sentences[index]) + 1) > self._batch_tokens:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _search(self, source: Tensor) -> list[list[int]]:
        if self._beam == 1:
            return greedy_search(self._loaded.model, source)
        return beam_search(self._loaded.model, source, self._beam)
