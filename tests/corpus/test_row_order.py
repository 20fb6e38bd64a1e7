"""The order in which training sees the rows of a corpus."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packed_pairs import pack_pairs, random_pairs

from weft.corpus.row_order import RowOrder
from weft.text.subwords import PAD


def rows_of_epochs(order: RowOrder, epochs: int) -> list[list[int]]:
    """The rows of whole epochs, in the order in which training sees them."""
    updates = -(-epochs * order.rows // order.batch_rows)
    seen = np.concatenate([order.batch(update) for update in range(updates)]).tolist()
    return [seen[epoch * order.rows : (epoch + 1) * order.rows] for epoch in range(epochs)]


@given(st.lists(st.integers(0, 15), min_size=1, max_size=6), st.integers(1, 60))
def test_each_epoch_sees_every_row_once(sizes: list[int], batch_rows: int) -> None:
    order = RowOrder(tuple(np.cumsum([0, 1, *sizes]).tolist()), batch_rows, seed=3)
    for seen in rows_of_epochs(order, epochs=3):
        assert sorted(seen) == list(range(order.rows))


def test_an_epoch_goes_through_one_shard_after_the_other() -> None:
    order = RowOrder((0, 20, 50, 60, 100), 7, seed=3)
    orders = []
    for seen in rows_of_epochs(order, epochs=3):
        shards = np.searchsorted(order.shards, seen, side="right") - 1
        changes = np.flatnonzero(np.diff(shards)) + 1
        assert len(changes) == 3
        orders.append(shards[[0, *changes]].tolist())
        assert all(part.tolist() != sorted(part) for part in np.split(np.array(seen), changes))
    assert len(set(map(tuple, orders))) > 1


def test_the_order_of_one_shard_stays_as_it_was() -> None:
    """Runs are taken up again by the number of an update: what a batch has must never change."""
    order = RowOrder((0, 50), 7, seed=3)
    seen = np.concatenate([np.random.default_rng([3, epoch]).permutation(50) for epoch in range(4)])
    assert np.concatenate([order.batch(update) for update in range(28)]).tolist() == seen[: 28 * 7].tolist()


def test_epochs_have_different_orders() -> None:
    first, second, third = rows_of_epochs(RowOrder((0, 20, 50), 7, seed=3), epochs=3)
    assert first != second and second != third and first != third


def test_a_batch_is_a_function_of_seed_and_update_only() -> None:
    in_turn = [RowOrder((0, 20, 50), 7, seed=3).batch(update).tolist() for update in range(30)]
    order = RowOrder((0, 20, 50), 7, seed=3)
    assert [order.batch(update).tolist() for update in reversed(range(30))] == in_turn[::-1]
    assert [RowOrder((0, 20, 50), 7, seed=4).batch(update).tolist() for update in range(30)] != in_turn


@pytest.mark.parametrize("world", [1, 2, 3, 4])
def test_ranks_share_the_batch_of_one_process(world: int) -> None:
    for update in range(20):
        whole = RowOrder((0, 10, 50), 12, seed=3).batch(update)
        shares = [RowOrder((0, 10, 50), 12, seed=3, rank=rank, world=world).batch(update) for rank in range(world)]
        assert {len(share) for share in shares} == {12 // world}
        assert np.concatenate(shares).tolist() == whole.tolist()


@pytest.mark.parametrize("world", [1, 2, 5])
@pytest.mark.parametrize("target_tokens", [1_000, 3_000, 10_000])
def test_batches_keep_to_the_budget(target_tokens: int, world: int) -> None:
    packed = pack_pairs(random_pairs(3_000, 10, 12), 64)
    orders = [RowOrder.for_budget(packed, target_tokens, 1, rank, world) for rank in range(world)]
    sizes = [sum((packed.take(order.batch(update))[1] != PAD).sum() for order in orders) for update in range(20)]
    assert orders[0].batch_rows % world == 0
    assert np.mean(sizes) == pytest.approx(target_tokens, abs=0.05 * target_tokens + 64 * world / 2)


def test_a_budget_below_one_row_still_has_a_row_for_each_process() -> None:
    packed = pack_pairs(random_pairs(100, 10, 10), 64)
    assert RowOrder.for_budget(packed, 1, seed=1).batch_rows == 1
    assert RowOrder.for_budget(packed, 1, seed=1, world=4).batch_rows == 4
