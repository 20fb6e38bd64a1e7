"""Rows of packed sentence pairs, and the order in which training sees them."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.corpus.packing import PackedRows, RowOrder, pack
from weft.corpus.prepared import PreparedCorpus, Side
from weft.errors import WeftError
from weft.text.subwords import END, PAD

Sentence = tuple[int, ...]
Pair = tuple[Sentence, Sentence]

sentences = st.lists(st.integers(2, 500), min_size=1, max_size=40).map(tuple)


def side_of(side: list[Sentence]) -> Side:
    offsets = np.cumsum([0, *map(len, side)])
    return Side(np.array([piece for sentence in side for piece in sentence], "<u2"), offsets)


def pack_pairs(pairs: list[Pair], row_length: int, seed: int = 1) -> PackedRows:
    return pack(side_of([source for source, _ in pairs]), side_of([target for _, target in pairs]), row_length, seed)


def random_pairs(count: int, source_mean: float, target_mean: float) -> list[Pair]:
    chance = np.random.default_rng(5)

    def sentence(mean: float) -> Sentence:
        return tuple(chance.integers(2, 60_000, 1 + chance.poisson(mean - 1)).tolist())

    return [(sentence(source_mean), sentence(target_mean)) for _ in range(count)]


def sentences_of(row: np.ndarray) -> list[Sentence]:
    """What stands in a row, split at END; after the last END there may be nothing but padding."""
    found: list[Sentence] = []
    current: list[int] = []
    for piece in np.trim_zeros(row, "b").tolist():
        assert piece != PAD
        if piece == END:
            found.append(tuple(current))
            current = []
        else:
            current.append(piece)
    assert not current
    return found


def pairs_of(packed: PackedRows) -> Counter[Pair]:
    """All pairs in the rows; the k-th sentence of a source row belongs to the k-th of the target row."""
    found: Counter[Pair] = Counter()
    for source, target in zip(packed.source, packed.target, strict=True):
        found.update(zip(sentences_of(source), sentences_of(target), strict=True))
    return found


def fitting(pairs: list[Pair], packed: PackedRows) -> list[Pair]:
    room = packed.source.shape[1], packed.target.shape[1]
    return [pair for pair in pairs if len(pair[0]) < room[0] and len(pair[1]) < room[1]]


# -- packing -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(sentences, sentences), max_size=60), st.integers(3, 50))
def test_every_pair_that_fits_is_packed_once_and_intact(pairs: list[Pair], row_length: int) -> None:
    pairs = [*pairs, ((7,), (8,))]  # one that fits in any case
    packed = pack_pairs(pairs, row_length)
    fits = fitting(pairs, packed)
    assert pairs_of(packed) == Counter(fits)
    assert packed.left_out == len(pairs) - len(fits)
    assert packed.target_tokens == sum(len(target) + 1 for _, target in fits)


def test_many_pairs_are_packed_densely() -> None:
    pairs = random_pairs(6_000, 20, 25)  # enough for many packers side by side
    packed = pack_pairs(pairs, 128)
    assert pairs_of(packed) == Counter(fitting(pairs, packed))
    assert packed.padding == pytest.approx(1 - sum(len(target) + 1 for _, target in pairs) / packed.target.size)
    assert packed.padding < 0.1
    assert packed.swapped().padding < 0.1


@pytest.mark.parametrize(("source_mean", "target_mean"), [(10, 20), (20, 10), (15, 15), (5, 40)])
def test_rows_of_the_shorter_side_are_shorter_in_proportion(source_mean: float, target_mean: float) -> None:
    pairs = random_pairs(3_000, source_mean, target_mean)
    packed = pack_pairs(pairs, 128)
    tokens = [sum(len(pair[side]) + 1 for pair in pairs) for side in (0, 1)]
    lengths = [packed.source.shape[1], packed.target.shape[1]]
    assert max(lengths) == 128
    assert lengths[0] / lengths[1] == pytest.approx(tokens[0] / tokens[1], rel=8 / min(lengths))
    assert all(length % 8 == 0 for length in lengths)


def test_pairs_longer_than_a_row_are_counted() -> None:
    short, long = (2, 3), tuple(range(2, 34))
    packed = pack_pairs([(short, short), (long, short), (short, long), (long, long), (short, short)], 32)
    assert packed.left_out == 3
    assert pairs_of(packed) == Counter({(short, short): 2})


def test_a_pair_may_fill_a_row_to_the_last_place() -> None:
    sentence = tuple(range(2, 17))  # 15 pieces and END
    packed = pack_pairs([(sentence, sentence)] * 3, 16)
    assert packed.source.shape == packed.target.shape == (3, 16)
    assert packed.padding == 0


def test_no_pair_fits() -> None:
    with pytest.raises(WeftError, match="no sentence pair fits into a row of 4 tokens; raise row_length"):
        pack_pairs([((2, 3, 4, 5), (2,)), ((2,), (2, 3, 4, 5))], 4)


def test_packing_is_a_function_of_the_seed() -> None:
    pairs = random_pairs(500, 8, 8)
    one, again, other = (pack_pairs(pairs, 64, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.source, again.source) and np.array_equal(one.target, again.target)
    assert pairs_of(one) == pairs_of(other)
    assert sentences_of(one.source[0]) != sentences_of(other.source[0])


def test_swapped_rows_exchange_the_sides() -> None:
    packed = pack_pairs([*random_pairs(50, 10, 20), (tuple(range(2, 200)), (2,))], 64)
    swapped = packed.swapped()
    assert swapped.source is packed.target and swapped.target is packed.source
    assert len(swapped) == len(packed) and swapped.left_out == packed.left_out == 1


def test_rows_for_both_ways_hold_every_pair_in_both_orders() -> None:
    packed = pack_pairs([*random_pairs(50, 10, 20), (tuple(range(2, 200)), (2,))], 64)
    both = packed.both_ways()
    assert packed.source.shape[1] < packed.target.shape[1]  # sides of one width have to be made
    assert pairs_of(both) == pairs_of(packed) + pairs_of(packed.swapped())
    assert both.left_out == 2 and np.array_equal(both.pairs, np.tile(packed.pairs, 2))
    firsts = both.source[both.row_of_pair, both.starts[:, 0]]  # where sentences begin
    assert np.array_equal(firsts[len(packed.pairs) :], packed.target[packed.row_of_pair, packed.starts[:, 1]])


def test_a_prepared_corpus_is_packed(corpus: PreparedCorpus) -> None:
    packed = pack(corpus.source, corpus.target, 64)
    expected = Counter(
        (tuple(corpus.source[index].tolist()), tuple(corpus.target[index].tolist())) for index in range(len(corpus))
    )
    assert packed.left_out == 0
    assert pairs_of(packed) == expected
    assert packed.source.dtype == np.uint16


# -- the order of rows -------------------------------------------------------------------------------------------------


def rows_of_epochs(order: RowOrder, epochs: int) -> list[list[int]]:
    """The rows of whole epochs, in the order in which training sees them."""
    updates = -(-epochs * order.rows // order.batch_rows)
    seen = np.concatenate([order.batch(update) for update in range(updates)]).tolist()
    return [seen[epoch * order.rows : (epoch + 1) * order.rows] for epoch in range(epochs)]


@given(st.integers(1, 40), st.integers(1, 60))
def test_each_epoch_sees_every_row_once(rows: int, batch_rows: int) -> None:
    for seen in rows_of_epochs(RowOrder(rows, batch_rows, seed=3), epochs=3):
        assert sorted(seen) == list(range(rows))


def test_epochs_have_different_orders() -> None:
    first, second, third = rows_of_epochs(RowOrder(50, 7, seed=3), epochs=3)
    assert first != second and second != third and first != third


def test_a_batch_is_a_function_of_seed_and_update_only() -> None:
    in_turn = [RowOrder(50, 7, seed=3).batch(update).tolist() for update in range(30)]
    order = RowOrder(50, 7, seed=3)
    assert [order.batch(update).tolist() for update in reversed(range(30))] == in_turn[::-1]
    assert [RowOrder(50, 7, seed=4).batch(update).tolist() for update in range(30)] != in_turn


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_ranks_share_the_batch_of_one_process(world: int) -> None:
    for update in range(20):
        whole = RowOrder(50, 12, seed=3).batch(update)
        shares = [RowOrder(50, 12, seed=3, rank=rank, world=world).batch(update) for rank in range(world)]
        assert {len(share) for share in shares} == {12 // world}
        assert np.concatenate(shares).tolist() == whole.tolist()


@pytest.mark.parametrize("world", [1, 2, 5])
@pytest.mark.parametrize("target_tokens", [1_000, 3_000, 10_000])
def test_batches_keep_to_the_budget(target_tokens: int, world: int) -> None:
    packed = pack_pairs(random_pairs(3_000, 10, 12), 64)
    orders = [RowOrder.for_budget(packed, target_tokens, 1, rank, world) for rank in range(world)]
    sizes = [sum((packed.target[order.batch(update)] != PAD).sum() for order in orders) for update in range(20)]
    assert orders[0].batch_rows % world == 0
    assert np.mean(sizes) == pytest.approx(target_tokens, abs=0.05 * target_tokens + 64 * world / 2)


def test_a_budget_below_one_row_still_has_a_row_for_each_process() -> None:
    packed = pack_pairs(random_pairs(100, 10, 10), 64)
    assert RowOrder.for_budget(packed, 1, seed=1).batch_rows == 1
    assert RowOrder.for_budget(packed, 1, seed=1, world=4).batch_rows == 4


def test_packing_stays_as_it_was() -> None:
    """Runs are taken up again by the number of an update: the rows of a corpus must never change."""
    packed = pack_pairs(random_pairs(40_000, 20, 25), 128, seed=3)
    found = hashlib.sha256()
    for array in (packed.source, packed.target, packed.pairs, packed.row_of_pair, packed.starts):
        found.update(np.ascontiguousarray(array).tobytes())
    assert found.hexdigest()[:16] == "7bc3dbb4a7215a3f"


def test_pairs_are_packed_as_often_as_they_are_drawn() -> None:
    pairs = random_pairs(300, 8, 8)
    times = np.random.default_rng(2).integers(0, 4, len(pairs))
    draws = np.repeat(np.arange(len(pairs)), times)
    source, target = (side_of([pair[side] for pair in pairs]) for side in (0, 1))
    packed = pack(source, target, 64, draws=draws)
    assert pairs_of(packed) == Counter(pairs[number] for number in draws)
    assert sorted(packed.pairs.tolist()) == draws.tolist()
    assert len(pack(source, target, 64, most=100, draws=draws).pairs) == 100
    once, as_always = pack(source, target, 64, draws=np.arange(len(pairs))), pack(source, target, 64)
    assert np.array_equal(once.source, as_always.source) and np.array_equal(once.pairs, as_always.pairs)
