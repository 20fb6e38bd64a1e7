"""A stream of sentences in, the same number of translations out, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.model.rows import Rows
from weft.model.torch_folder import LoadedModel
from weft.model.translation import LONGEST_SENTENCE, TranslationModel
from weft.text.subwords import END, PAD

_READ_AHEAD = 2_000  # sentences that are sorted by length together


class Translator:
    """Translates text with a loaded model: normalisation and pieces are those of its training."""

    def __init__(self, loaded: LoadedModel, beam: int = 5, batch_tokens: int = 4_000) -> None:
        self._loaded, self._beam, self._batch_tokens = loaded, beam, batch_tokens
        self._device = next(loaded.model.parameters()).device
        self.shortened = 0
        """Sentences that were too long for the model and lost their ends."""

    def translate(self, lines: Iterable[str]) -> Iterator[str]:
        """Translate a stream, reading ahead so that sentences of one length share a batch."""
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
                translations[index] = self._loaded.subwords.decode(ids)
        return translations

    def _encode(self, line: str) -> list[int]:
        ids = self._loaded.subwords.ids(line)
        if len(ids) >= LONGEST_SENTENCE:
            self.shortened += 1
        return ids[: LONGEST_SENTENCE - 1]

    def _batches(self, order: list[int], sentences: list[list[int]]) -> Iterator[list[int]]:
        """Yield sentences of similar length, as many as the budget of tokens allows."""
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


@dataclass
class Cache:
    """Keys and values of all decoder layers: of the target so far, and of the source."""

    past: list[Tensor]  # per layer (hypotheses, words so far, 2, heads, head)
    memory: list[Tensor]  # per layer (hypotheses, source, 2, heads, head)
    visible: Tensor  # (hypotheses, 1, 1, source): which source positions hold words

    def select(self, chosen: Tensor) -> None:
        """Keep the hypotheses ``chosen``, in that order."""
        self.past = [layer[chosen] for layer in self.past]
        self.memory = [layer[chosen] for layer in self.memory]
        self.visible = self.visible[chosen]


def start(model: TranslationModel, source: Tensor, beam: int = 1) -> Cache:
    """Encode sentences, one per row (sentences, source), for ``beam`` hypotheses each."""
    states = model.encode(Rows.of(source)).repeat_interleave(beam, 0)
    heads = model.config.heads
    empty = states.new_zeros(len(states), 0, 2, heads, model.config.width // heads)
    return Cache(
        past=[empty for _ in model.decoder],
        memory=[layer.cross.keys_values(states) for layer in model.decoder_layers],
        visible=(source != PAD).repeat_interleave(beam, 0)[:, None, None],
    )


def advance(model: TranslationModel, words: Tensor, cache: Cache) -> Tensor:
    """Read one more word of every hypothesis (hypotheses,). Returns the logits of the next. (hypotheses, vocabulary)"""
    place = torch.full_like(words, cache.past[0].shape[1])
    states = model.embedding(words[:, None], place[:, None])
    for index, layer in enumerate(model.decoder_layers):
        states, cache.past[index] = layer.step(states, cache.past[index], cache.memory[index], cache.visible)
    return model.logits(model.decoder_norm(states)[:, 0]).float()


@torch.inference_mode()
def greedy_search(model: TranslationModel, source: Tensor) -> list[list[int]]:
    """Append the most probable next word, again and again, for every row of ``source`` (sentences, source)."""
    limits = _length_limits(source)
    cache = start(model, source)
    words = torch.full((len(source),), END, device=source.device)
    chosen = []
    finished = torch.zeros(len(source), dtype=torch.bool, device=source.device)
    for step in range(int(limits.max())):
        words = advance(model, words, cache).argmax(-1)
        finished |= (words == END) | (limits <= step)
        words = words.masked_fill(finished, END)
        chosen.append(words)
        if bool(finished.all()):
            break
    return [_until_end(row) for row in torch.stack(chosen, 1).tolist()]


@torch.inference_mode()
def beam_search(model: TranslationModel, source: Tensor, beam: int, length_penalty: float = 1.0) -> list[list[int]]:
    """Find the best of ``beam`` hypotheses by log-probability / length**length_penalty, for every row of ``source``.

    A hypothesis that ends goes to its sentence's finished ones. A sentence is done when its best possible continuation
    can't beat the best finished hypothesis any more, or at twice the length of the source.
    """
    sentences, device = len(source), source.device
    limits = _length_limits(source)
    cache = start(model, source, beam)
    words = torch.full((sentences * beam,), END, device=device)
    # Only the first of the equal hypotheses counts at the start.
    scores = torch.full((sentences, beam), float("-inf"), device=device)
    scores[:, 0] = 0
    prefixes = torch.empty((sentences * beam, 0), dtype=torch.long, device=device)
    alive = torch.arange(sentences, device=device)  # sentences that are still searched
    best_score = torch.full((sentences,), float("-inf"), device=device)
    best: list[list[int]] = [[] for _ in range(sentences)]

    for step in range(int(limits.max())):
        log_probabilities = advance(model, words, cache).log_softmax(-1).view(len(alive), beam, -1)
        vocabulary = log_probabilities.shape[-1]
        candidates = scores[:, :, None] + log_probabilities
        finished = candidates[:, :, END] / (step + 1) ** length_penalty  # (alive, beam)
        top_finished, which = finished.max(1)
        better = top_finished > best_score[alive]
        best_score[alive] = torch.where(better, top_finished, best_score[alive])
        for row in better.nonzero()[:, 0].tolist():
            best[int(alive[row])] = prefixes[row * beam + int(which[row])].tolist()

        candidates[:, :, END] = float("-inf")
        scores, chosen = candidates.view(len(alive), -1).topk(beam, dim=1)
        origin = (torch.arange(len(alive), device=device)[:, None] * beam + chosen // vocabulary).flatten()
        words = (chosen % vocabulary).flatten()
        prefixes = torch.cat([prefixes[origin], words[:, None]], dim=1)

        longest = limits[alive] ** length_penalty
        going = (scores[:, 0] / longest > best_score[alive]) & (limits[alive] > step + 1)
        if not bool(going.any()):
            break
        keep = (going.nonzero()[:, 0][:, None] * beam + torch.arange(beam, device=device)).flatten()
        cache.select(origin[keep])
        words, prefixes = words[keep], prefixes[keep]
        alive, scores = alive[going], scores[going]
    return best


def _length_limits(source: Tensor) -> Tensor:
    """Return how long translations may become: twice the source and some words more. (sentences,)"""
    return ((source != PAD).sum(1) * 2 + 10).clamp(max=LONGEST_SENTENCE - 1)


def _until_end(words: list[int]) -> list[int]:
    return words[: words.index(END)] if END in words else words
