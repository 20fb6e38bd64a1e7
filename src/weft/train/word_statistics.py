"""Word alignment by counting: what the words of a text do in general, for text that a model does not know.

Attention to a language that a model has never seen is hardly better than chance. But words that translate each other
meet in more sentence pairs than others do. Each target word comes from a source word or from none, and words that stand
together come from words that stand together (a hidden Markov model, Vogel et al., 1996):

    P(target | source) = Σ_a Π_i jump(a_i − a_{i−1}) · trust(i, a_i) · t(target_i | source_{a_i}),
    trust(i, j) = λ·n·A(i, j) + 1 − λ,

where A is the model's attention between words, n the number of source words, and λ says how far A can be trusted.
Expectation maximisation finds t, jump and λ, in both directions, which learn from the product of their posteriors
(Liang et al., 2006).

Whether the model knows the language, so that counting is better only on words that the text has often, λ does not tell:
t is learned from links that attention has found, few pairs do not contradict them, and λ comes near 1. How far the
attention of the two directions agrees does tell it, from few pairs as from many: Σ A_F·A_B over the words of the
shorter sentence is 0.6 and more in languages that a model has learned, and 0.46 at most in others (EXPERIMENTS.md).

Most words of some thousand sentence pairs are there once or twice. So a lexicon of stems, the first four characters of
words, smooths that of words, and words that begin alike (names, numbers, loan words) are likely to be linked:

    t(f | e) = (count(e, f) + 8·t(stem f | stem e)·share(f | stem f) + ½·likeness(e, f)) / (count(e) + 8½)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.corpus.prepared import Side
from weft.model.rows import Attend, PairRows
from weft.progress import Progress
from weft.text.subwords import END, PAD, Subwords
from weft.train.distributed import Process

# Chosen on Slovenian, Dutch and German (EXPERIMENTS.md).
_STEM = 4  # characters
_STEM_COUNT = 8.0  # how many occurrences of a word its stem stands for
_LIKE_COUNT = 0.5  # how many links the same spelling stands for
_LEAST_LIKE = 0.4  # words less alike than this are not alike
_COMPARED = 12  # characters at the beginning of words
_PRIOR = 0.001  # links that every pair of stems is taken to have had
_NO_LINK = 0.1  # the probability that a word comes from none
_FARTHEST = 12  # words; farther jumps count as this one
_UNORDERED, _ORDERED = 8, 5  # rounds of expectation maximisation: with all jumps alike, with jumps as they are found
_TRUST, _MOST_TRUST = 0.5, 0.9999  # λ at first, and at most
_KNOWN = 0.5  # if the two directions agree on so much of their attention, a model knows the language
_CELLS = 60_000  # of a batch
_PART = 100_000  # pairs of words that are compared at a time
_TINY = 1e-30  # to divide by


class WordSide(NamedTuple):
    """One side of a corpus in words."""

    sentences: Side  # the words' numbers
    places: np.ndarray  # (pieces,): the place of each piece's word in its sentence
    pieces: list[tuple[int, ...]]  # of all words, by their numbers
    spellings: list[str]

    @classmethod
    def of(cls, side: Side, subwords: Subwords, given: Sequence[np.ndarray] = ()) -> WordSide:
        """Find the words that pieces make; for the first sentences, their numbers may be given. None may be empty."""
        begins = subwords.starts_word[side.ids]
        for offset, own in zip(side.offsets, given, strict=False):
            begins[offset : offset + len(own)] = np.diff(own, prepend=-1) > 0
        begins[side.offsets[:-1]] = True
        starts = np.flatnonzero(begins)
        offsets = np.searchsorted(starts, side.offsets)
        numbers: dict[tuple[int, ...], int] = {}
        found = (numbers.setdefault(tuple(word.tolist()), len(numbers)) for word in np.split(side.ids, starts[1:]))
        words = np.fromiter(found, np.int64, len(starts))
        spellings = [subwords.decode(pieces) for pieces in numbers]
        places = np.cumsum(begins) - 1 - np.repeat(offsets[:-1], side.lengths)
        return cls(Side(words, offsets), places, list(numbers), spellings)


class Posteriors(NamedTuple):
    """The probabilities of links between the words of all pairs: (target words, source words) one after the other."""

    forward: Tensor  # (cells,): what is missing to a sum of one over source words is the null word's
    backward: Tensor  # (cells,): the same over target words
    offsets: Tensor  # (pairs + 1,): where the cells of each pair begin
    agreement: Tensor  # (): the share of the model's attention on which its two directions agree

    @property
    def known(self) -> bool:
        """Whether the model knows the language, so that its attention is better than counting."""
        return self.agreement.item() >= _KNOWN


def word_posteriors(
    sides: tuple[Side, Side],
    words: tuple[WordSide, WordSide],
    attend: Attend,
    process: Process,
    given: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> Posteriors:
    """Find how probable the links of all pairs are, given what a model attends to.

    For the first pairs, these probabilities, forward and backward, may be given; then others learn from them.
    """
    lengths = np.stack([one.sentences.lengths for one in words], axis=1)  # (pairs, 2)
    batches = _batches(lengths)
    offsets = np.append(0, np.cumsum(lengths.prod(axis=1)))
    forward, backward = (torch.zeros(int(offsets[-1]), dtype=torch.float16) for _ in sides)
    with Progress(visible=process.first) as progress:
        progress.phase("attention", len(lengths), "pairs")
        attention = []
        for batch in batches:
            attention.append(_between_words(sides, words, batch, attend, process.device))
            progress.advance(len(batch))
        lexicon = _Lexicon(words, batches)
        directions = _Direction(lexicon, given=0), _Direction(lexicon, given=1)
        rounds = _UNORDERED + _ORDERED
        progress.phase("counting words", (rounds + 1) * len(batches), "batches")
        for number in range(rounds):
            for batch, places, known in zip(batches, lexicon.places, attention, strict=True):
                links = _links(directions, places, known, lengths[batch])
                _put(given, links, batch)
                for direction, own in zip(directions, links, strict=True):
                    direction.count(places, links[0] * links[1] if number else own)  # at first there is no agreement
                progress.advance(1)
            for direction in directions:
                direction.learn(jumps=number >= _UNORDERED)
        for batch, places, known in zip(batches, lexicon.places, attention, strict=True):
            links = _links(directions, places, known, lengths[batch])
            _put(given, links, batch)
            for found, own in zip((forward, backward), links, strict=True):
                for row, pair in enumerate(batch):
                    source, target = lengths[pair]
                    found[offsets[pair] : offsets[pair + 1]] = own[row, :target, :source].flatten()
            progress.advance(1)
    return Posteriors(forward, backward, torch.from_numpy(offsets), _agreement(attention, lengths))


def _agreement(attention: Sequence[tuple[Tensor, Tensor]], lengths: np.ndarray) -> Tensor:
    """Return what both directions put on the same links, as a share of the most that they could. ()

    ``attention`` is that of all batches, ``lengths`` (pairs, 2) are the numbers of words.
    """
    agreed = torch.stack([(forward.float() * backward.float()).sum() for forward, backward in attention]).sum()
    return agreed / int(lengths.min(axis=1).sum())


def _batches(lengths: np.ndarray) -> list[np.ndarray]:
    """Return the pairs of each batch: of similar lengths, as many as have so many cells."""
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    found, begin = [], 0
    while begin < len(order):
        count = max(1, _CELLS // int(lengths[order[begin]].prod()))
        while count > 1 and count * int(lengths[order[begin : begin + count]].max(axis=0).prod()) > _CELLS:
            count = count * 3 // 4
        found.append(order[begin : begin + count])
        begin += count
    return found


def _padded(side: Side, batch: np.ndarray, values: np.ndarray, padding: int) -> np.ndarray:
    """Return what ``values`` has for each word or piece of some sentences, as rows. (batch, longest)"""
    lengths = side.lengths[batch]
    columns = np.arange(lengths.max())
    real = columns < lengths[:, None]
    return np.where(real, values[np.where(real, side.offsets[batch][:, None] + columns, 0)], padding)


def _between_words(
    sides: tuple[Side, Side], words: tuple[WordSide, WordSide], batch: np.ndarray, attend: Attend, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the attention of words to words, forward and backward, in half precision; each (batch, target, source).

    A word's attention is the mean over its pieces of what each pays to all pieces of the other word together.
    """
    ids, members = [], []
    for side, side_words in zip(sides, words, strict=True):
        pieces = np.full((len(batch), side.lengths[batch].max() + 1), PAD, np.int32)
        pieces[:, :-1] = _padded(side, batch, side.ids, PAD)
        pieces[np.arange(len(batch)), side.lengths[batch]] = END
        ids.append(torch.from_numpy(pieces).to(device))
        places = torch.from_numpy(_padded(side, batch, side_words.places, -1))
        members.append((places[:, None] == torch.arange(side_words.sentences.lengths[batch].max())[:, None]).float())
    forward, backward = (one[:, :-1, :-1].float().cpu() for one in attend(PairRows.of(*ids)))
    source, target = members  # (batch, words, pieces)
    of_source, of_target = (one / one.sum(2, keepdim=True).clamp(min=1) for one in members)
    return (of_target @ forward @ source.mT).half(), (target @ backward @ of_source.mT).half()


class _Lexicon:
    """All pairs of words that meet in some sentence pair, and how counts of their links become probabilities."""

    def __init__(self, words: tuple[WordSide, WordSide], batches: Sequence[np.ndarray]) -> None:
        self.frequencies = [torch.from_numpy(np.bincount(one.sentences.ids)).float() for one in words]  # each (words,)
        width = len(words[0].spellings)
        numbers = []  # that stand for the pairs of words; outside sentences for that of the first words
        for batch in batches:
            source, target = (_padded(one.sentences, batch, one.sentences.ids, 0) for one in words)
            numbers.append(target[:, :, None] * width + source[:, None])
        pairs = np.unique(np.concatenate([np.unique(one) for one in numbers]))
        self.places = [torch.from_numpy(np.searchsorted(pairs, one).astype(np.int32)) for one in numbers]
        """For each batch, the places of its pairs of words among all; (batch, target, source)."""
        self.words = [torch.from_numpy(one) for one in (pairs % width, pairs // width)]  # each (pairs,)
        self._likeness = _likeness([one.spellings for one in words], self.words)
        stems = [_stems(one.spellings) for one in words]
        self._shares = [
            counts / _sums(of_word, counts)[of_word] for counts, of_word in zip(self.frequencies, stems, strict=True)
        ]
        of_pairs = [of_word[places] for of_word, places in zip(stems, self.words, strict=True)]
        self._stem_counts = [int(of_word.max()) + 1 for of_word in stems]
        stem_pairs, self._stem_pair = (of_pairs[1] * self._stem_counts[0] + of_pairs[0]).unique(return_inverse=True)
        self._stems = [stem_pairs % self._stem_counts[0], stem_pairs // self._stem_counts[0]]  # each (stem pairs,)

    def probabilities(self, counts: Tensor, given: int) -> Tensor:
        """Return t, the probability of each pair's word given its word of side ``given``. (pairs,)"""
        made = 1 - given
        stems = _sums(self._stem_pair, counts)
        of_stems = (stems + _PRIOR) / (_sums(self._stems[given], stems) + _PRIOR * self._stem_counts[made])[
            self._stems[given]
        ]
        expected = of_stems[self._stem_pair] * self._shares[made][self.words[made]]
        sums = _sums(self.words[given], counts)[self.words[given]]
        smoothed = counts + _STEM_COUNT * expected + _LIKE_COUNT * self._likeness
        return smoothed / (sums + _STEM_COUNT + _LIKE_COUNT)


def _sums(groups: Tensor, values: Tensor) -> Tensor:
    """Return the sum of the values of each group. (groups,)"""
    return torch.zeros(int(groups.max()) + 1).index_add_(0, groups, values)


def _stems(spellings: Sequence[str]) -> Tensor:
    """Return the number of each word's stem. (words,)"""
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(word[:_STEM], len(numbers)) for word in spellings])


def _likeness(spellings: Sequence[Sequence[str]], words: Sequence[Tensor]) -> Tensor:
    """Return how much of the spellings of two words is the same beginning, squared; 0 if that is little. (pairs,)"""
    letters, lengths = [], []
    for side in spellings:
        plain = ["".join(c for c in unicodedata.normalize("NFD", one) if not unicodedata.combining(c)) for one in side]
        rows = np.array([one[:_COMPARED] for one in plain], f"<U{_COMPARED}")
        letters.append(torch.from_numpy(rows.view(np.int32).reshape(len(side), _COMPARED)))
        lengths.append(torch.tensor([min(len(one), _COMPARED) for one in plain]))
    alike = torch.zeros(len(words[0]))
    for part in torch.arange(len(alike)).split(_PART):
        source, target = (one[places[part]] for one, places in zip(letters, words, strict=True))  # (part, letters)
        same = ((source == target) & (source > 0)).cumprod(1).sum(1)
        both = sum(one[places[part]] for one, places in zip(lengths, words, strict=True))
        alike[part] = 2 * same / both
    return torch.where(alike >= _LEAST_LIKE, alike.square(), 0)


class _Direction:
    """One direction of the model: words of one side are made from words of the other, which is given."""

    def __init__(self, lexicon: _Lexicon, given: int) -> None:
        self._lexicon, self._given = lexicon, given
        self._made = lexicon.words[1 - given]  # (pairs,)
        self._frequencies = lexicon.frequencies[1 - given] / lexicon.frequencies[1 - given].sum()
        self._probabilities = self._frequencies[self._made]  # (pairs,): t, at first whatever word is given
        self._counts = torch.zeros(len(self._made))
        self._jumps = self._jump_counts = torch.ones(2 * _FARTHEST + 1)
        self._trust = _TRUST
        self._links = torch.zeros(2)  # all, and those by attention

    def links(self, places: Tensor, attention: Tensor, lengths: Tensor) -> Tensor:
        """Return the posteriors of a batch's links. (batch, made, given)

        ``lengths`` (batch, 2) are the numbers of given and of made words.
        """
        inside = (
            _before(lengths[:, 1], attention.shape[1])[:, :, None] & _before(lengths[:, 0], attention.shape[2])[:, None]
        )
        trusted = self._trust * lengths[:, :1, None] * attention
        emissions = self._probabilities[places] * (trusted + 1 - self._trust)
        alone = self._frequencies[self._made[places[:, :, 0]]]
        found, jumps = hidden_markov(torch.where(inside, emissions, 0), alone, self._jumps, lengths)
        self._jump_counts = self._jump_counts + jumps
        by_attention = found * trusted / (trusted + 1 - self._trust)
        self._links += torch.stack([found.sum(), by_attention.sum()])
        return found

    def count(self, places: Tensor, links: Tensor) -> None:
        """Count links."""
        self._counts.index_add_(0, places.flatten(), links.flatten())

    def learn(self, jumps: bool) -> None:
        """Turn what was counted into probabilities, those of jumps only if wanted, and begin to count anew."""
        self._probabilities = self._lexicon.probabilities(self._counts, self._given)
        self._counts = torch.zeros_like(self._counts)
        if jumps:
            self._jumps = self._jump_counts / self._jump_counts.sum()
        self._jump_counts = torch.ones_like(self._jumps)
        links, by_attention = self._links.tolist()
        self._trust = min(by_attention / links, _MOST_TRUST)
        self._links = torch.zeros(2)


def _links(
    directions: tuple[_Direction, _Direction], places: Tensor, attention: tuple[Tensor, Tensor], lengths: np.ndarray
) -> tuple[Tensor, Tensor]:
    """Return the posteriors of a batch's links in both directions, each (batch, target, source)."""
    sizes = torch.from_numpy(lengths)
    forward, backward = (one.float() for one in attention)
    return directions[0].links(places, forward, sizes), directions[1].links(places.mT, backward.mT, sizes.flip(1)).mT


def _put(given: Sequence[tuple[np.ndarray, np.ndarray]], links: tuple[Tensor, Tensor], batch: np.ndarray) -> None:
    """Put the probabilities that are given for pairs of a batch in the place of those that were found."""
    for row in np.flatnonzero(batch < len(given)):
        for found, right in zip(links, given[batch[row]], strict=True):
            found[row] = 0
            found[row, : right.shape[0], : right.shape[1]] = torch.from_numpy(right)


def hidden_markov(emissions: Tensor, alone: Tensor, jumps: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Run the forward-backward algorithm.

    Args:
        emissions: P(made word | given word), 0 outside sentences. (batch, made, given)
        alone: P(made word | no word). (batch, made)
        jumps: How likely jumps are by −12 … 12 words. (25,)
        lengths: The numbers of given and of made words. (batch, 2)

    Returns posteriors of links (batch, made, given) and the expected numbers of jumps (25,).
    """
    batch, made, given = emissions.shape
    places = torch.arange(-1, given)  # the first one is before the sentence, where every path begins
    steps = (places[None, 1:] - places[:, None]).clamp(-_FARTHEST, _FARTHEST) + _FARTHEST  # (from, to)
    moves = jumps[steps] * _before(lengths[:, 0], given)[:, None]  # (batch, from, to)
    moves = moves / moves.sum(2, keepdim=True) * (1 - _NO_LINK)
    alone = alone * _NO_LINK
    real = _before(lengths[:, 1], made)
    # at: (batch, given + 1), where the path is after so many made words; a word made from none stays there
    at = torch.zeros(batch, given + 1)
    at[:, 0] = 1
    left, arrived, scales = [], [], []
    for word in range(made):
        linked = (at[:, None] @ moves)[:, 0] * emissions[:, word]
        after = at * alone[:, word, None]
        after[:, 1:] += linked
        scale = after.sum(1, keepdim=True).clamp(min=_TINY)
        left.append(at)
        arrived.append(linked / scale)
        scales.append(scale)
        at = torch.where(real[:, word, None], after / scale, at)
    posteriors = torch.zeros(batch, made, given)
    expected = torch.zeros_like(jumps)
    later = torch.ones(batch, given + 1)  # the probability of all later words, scaled
    for word in reversed(range(made)):
        posteriors[:, word] = torch.where(real[:, word, None], arrived[word] * later[:, 1:], 0)
        coming = torch.where(real[:, word, None], emissions[:, word] * later[:, 1:] / scales[word], 0)  # (batch, given)
        jumped = torch.einsum("bf,bft,bt->ft", left[word], moves, coming)
        expected.index_add_(0, steps.flatten(), jumped.flatten())
        before = (moves @ coming[:, :, None])[:, :, 0] + alone[:, word, None] * later / scales[word]
        later = torch.where(real[:, word, None], before, later)
    return posteriors, expected


def _before(lengths: Tensor, longest: int) -> Tensor:
    """Return True for the words of each sentence, False for padding. (batch, longest)"""
    return torch.arange(longest) < lengths[:, None]
