"""What a lexicon makes of attention."""

from __future__ import annotations

import collections
import itertools

import numpy as np
import torch

from weft.corpus.packed_rows import PackedRows
from weft.corpus.packing import pack
from weft.corpus.prepared import Side
from weft.model.rows import Attention, PairRows, masked_softmax
from weft.text.subwords import END
from weft.train.attention_lexicon import Lexicon, corrected_by_lexicon
from weft.train.distributed import Process
from weft.train.task import pair_rows

CPU = torch.device("cpu")
PROCESS = Process(0, 1, CPU)
WORDS = 12


def random_text(pairs: int, seed: int) -> PackedRows:
    """Short sentences of few words, so that many words are in a sentence twice; several sentences in a row."""
    generator = np.random.default_rng(seed)

    def side() -> Side:
        sentences = [generator.integers(2, WORDS, generator.integers(1, 8)) for _ in range(pairs)]
        return Side(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))

    return pack(side(), side(), 32, seed)


def random_attention(pair: PairRows) -> Attention:
    """The same for the same pair."""
    scores = torch.sin(7.0 * pair.target.ids[:, :, None] * pair.source.ids[:, None] + pair.target.places[:, :, None])
    cells = pair.cells()
    return Attention(masked_softmax(4 * scores, cells, 2), masked_softmax(4 * scores, cells, 1))


def rows(packed: PackedRows) -> PairRows:
    return pair_rows(packed, np.arange(len(packed)), CPU)


def counted(pair: PairRows, attention: Attention) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """The sums of the docstring, sentence by sentence."""
    mass: dict[tuple[int, int], float] = collections.defaultdict(float)
    meetings: dict[tuple[int, int], float] = collections.defaultdict(float)
    for row in range(len(pair.target.ids)):
        for sentence in range(int(pair.target.segments[row].max()) + 1):
            places = [
                [p for p, i in enumerate(side.ids[row].tolist()) if side.segments[row, p] == sentence and i > END]
                for side in (pair.target, pair.source)
            ]
            words = [
                collections.Counter(int(side.ids[row, p]) for p in here)
                for side, here in zip((pair.target, pair.source), places, strict=True)
            ]
            for t, s in itertools.product(*words):
                meetings[t, s] += min(words[0][t], words[1][s])
            for t, s in itertools.product(*places):
                mean = (attention.forward[row, t, s] + attention.backward[row, t, s]) / 2
                mass[int(pair.target.ids[row, t]), int(pair.source.ids[row, s])] += float(mean)
    return mass, meetings


def test_attention_is_weighted_by_the_odds_of_its_pairs() -> None:
    pair = rows(random_text(40, seed=1))
    attention = random_attention(pair)
    mass, meetings = counted(pair, attention)
    lexicon = Lexicon(WORDS, CPU)
    lexicon.add(pair, attention)
    found = lexicon.corrected(pair, attention)
    weights = torch.ones_like(attention.forward)
    for row, t, s in itertools.product(*map(range, weights.shape)):
        key = int(pair.target.ids[row, t]), int(pair.source.ids[row, s])
        if pair.cells()[row, t, s] and min(key) > END:
            rate = (mass[key] + 2) / (meetings[key] + 4)
            weights[row, t, s] = (4 * rate / (1 - rate)) ** 0.5
    for before, after, dim in ((attention.forward, found.forward, 2), (attention.backward, found.backward, 1)):
        wanted = before * weights
        wanted = wanted / wanted.sum(dim, keepdim=True).clamp(min=1e-9)
        torch.testing.assert_close(after, wanted, atol=2e-3, rtol=2e-2)  # its sums are of 256ths
        torch.testing.assert_close(after.sum(dim), before.sum(dim))


def test_a_lexicon_is_the_same_whatever_the_order() -> None:
    packed = random_text(200, seed=2)
    pair = rows(packed)
    forwards, backwards = Lexicon(WORDS, CPU), Lexicon(WORDS, CPU)
    for batch in torch.arange(len(packed)).split(3):
        one = PairRows.of(pair.source.ids[batch], pair.target.ids[batch])
        forwards.add(one, random_attention(one))
    for batch in reversed(torch.arange(len(packed)).split(5)):
        one = PairRows.of(pair.source.ids[batch], pair.target.ids[batch])
        backwards.add(one, random_attention(one))
    attention = random_attention(pair)
    for one, other in zip(forwards.corrected(pair, attention), backwards.corrected(pair, attention), strict=True):
        assert torch.equal(one, other)


def test_pairs_that_have_not_met_have_the_rate_of_the_prior() -> None:
    lexicon = Lexicon(WORDS, CPU)
    pair = PairRows.of(torch.tensor([[2, 3, END]]), torch.tensor([[4, 5, END]]))
    attention = Attention(torch.full((1, 3, 3), 1 / 3), torch.full((1, 3, 3), 1 / 3))
    weight = 2.0  # √(odds(2/4) / odds(1/5))
    row = torch.tensor([weight, weight, 1.0]) / (2 * weight + 1)
    for _ in range(2):
        forward = lexicon.corrected(pair, attention).forward[0]
        torch.testing.assert_close(forward[0], row)
        torch.testing.assert_close(forward[2], torch.full((3,), 1 / 3))  # the null word keeps its weight
        other = PairRows.of(torch.tensor([[6, END]]), torch.tensor([[7, END]]))
        lexicon.add(other, random_attention(other))


def test_sums_do_not_overflow() -> None:
    lexicon = Lexicon(3, CPU)
    words = torch.full((1, 1_000), 2, dtype=torch.int32)
    much = torch.full((1, 1_000, 1_000), 9.0)  # in one batch what millions of pairs have together
    pair = PairRows.of(words, words)
    for _ in range(2):
        lexicon.add(pair, Attention(much, much))
    assert 2 * 9 * 1_000**2 * 256 > 2**31
    short = PairRows.of(torch.tensor([[2, END]]), torch.tensor([[2, END]]))
    even = torch.full((1, 2, 2), 0.5)
    assert lexicon.corrected(short, Attention(even, even)).forward[0, 0, 0] > 0.99  # the rate of 2 and 2 is near 1


def test_a_part_of_the_text_will_do() -> None:
    packed = random_text(300, seed=4)
    seen: list[int] = []

    def attend(pair: PairRows) -> Attention:
        seen.append(len(pair.target.ids))
        return random_attention(pair)

    corrected_by_lexicon(attend, packed, 100, WORDS, PROCESS)
    assert sum(seen) == -(-len(packed) // 3)
    seen.clear()
    corrected_by_lexicon(attend, packed, 1_000, WORDS, PROCESS)
    assert sum(seen) == len(packed)
