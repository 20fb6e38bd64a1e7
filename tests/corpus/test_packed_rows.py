"""Rows of packed pairs: in one direction, in the other, in both."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from packed_pairs import all_rows, pack_pairs, pairs_of, random_pairs

from weft.corpus import packing
from weft.corpus.packed_rows import PackedRows


@pytest.fixture(params=[1 << 21, 16])
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PackedRows:
    """Rows in one shard and in several; a pair is too long for them."""
    monkeypatch.setattr(packing, "_SHARD_PAIRS", request.param)
    monkeypatch.setattr(packing, "_BLOCK_PAIRS", min(request.param, 1_024))
    rows = pack_pairs([*random_pairs(50, 10, 20), (tuple(range(2, 200)), (2,))], 64)
    assert len(rows.shards) == (2 if request.param > 16 else 5)
    return rows


def test_rows_are_taken_in_any_order(packed: PackedRows) -> None:
    source, target = all_rows(packed)
    chosen = np.array([len(packed) - 1, 0, 0, 3])
    assert np.array_equal(packed.take(chosen)[0], source[chosen])
    assert np.array_equal(packed.take(chosen)[1], target[chosen])


def test_swapped_rows_exchange_the_sides(packed: PackedRows) -> None:
    swapped = packed.swapped()
    assert np.array_equal(all_rows(swapped)[0], all_rows(packed)[1])
    assert np.array_equal(all_rows(swapped)[1], all_rows(packed)[0])
    assert len(swapped) == len(packed) and swapped.left_out == packed.left_out == 1
    assert swapped.target_tokens == packed.tokens[0] != packed.target_tokens
    assert swapped.swapped() == dataclasses.replace(packed)


def test_rows_for_both_ways_hold_every_pair_in_both_orders(packed: PackedRows) -> None:
    both = packed.both_ways()
    assert packed.lengths[0] < packed.lengths[1]  # sides of one width have to be made
    assert pairs_of(both) == pairs_of(packed) + pairs_of(packed.swapped())
    assert both.left_out == 2 and both.target_tokens == sum(packed.tokens)
    source, target = all_rows(both)
    assert both.target_tokens == (target != 0).sum() == (source != 0).sum()
    for first, end in zip(both.shards[:-1], both.shards[1:], strict=True):  # each shard and then the same swapped
        half = (first + end) // 2
        assert np.array_equal(source[first:half], target[half:end])
        assert np.array_equal(target[first:half], source[half:end])


def test_padding_is_what_holds_no_token(packed: PackedRows) -> None:
    _, target = all_rows(packed)
    assert packed.padding == pytest.approx((target == 0).mean())
