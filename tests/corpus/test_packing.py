"""Sentence pairs packed into rows: all of them, densely, as often as they are drawn, a shard at a time."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packed_pairs import Pair, all_rows, fitting, pack_pairs, pairs_of, random_pairs, side_of

from weft.corpus import packing
from weft.corpus.packed_rows import PackedRows
from weft.corpus.packing import pack, packed_corpus
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.progress import Progress

sentences = st.lists(st.integers(2, 500), min_size=1, max_size=40).map(tuple)


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
    assert packed.padding == pytest.approx(
        1 - sum(len(target) + 1 for _, target in pairs) / (len(packed) * packed.lengths[1])
    )
    assert packed.padding < 0.1
    assert packed.swapped().padding < 0.1


@pytest.mark.parametrize(("source_mean", "target_mean"), [(10, 20), (20, 10), (15, 15), (5, 40)])
def test_rows_of_the_shorter_side_are_shorter_in_proportion(source_mean: float, target_mean: float) -> None:
    pairs = random_pairs(3_000, source_mean, target_mean)
    packed = pack_pairs(pairs, 128)
    tokens = [sum(len(pair[side]) + 1 for pair in pairs) for side in (0, 1)]
    lengths = packed.lengths
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
    assert len(packed) == 3 and packed.lengths == (16, 16)
    assert packed.padding == 0


def test_no_pair_fits() -> None:
    with pytest.raises(WeftError, match="no sentence pair fits into a row of 4 tokens; raise row_length"):
        pack_pairs([((2, 3, 4, 5), (2,)), ((2,), (2, 3, 4, 5))], 4)


def test_packing_is_a_function_of_the_seed() -> None:
    pairs = random_pairs(500, 8, 8)
    one, again, other = (pack_pairs(pairs, 64, seed) for seed in (1, 1, 2))
    assert np.array_equal(all_rows(one), all_rows(again))
    assert pairs_of(one) == pairs_of(other)
    assert not np.array_equal(one.pairs[:5], other.pairs[:5])


def test_a_prepared_corpus_is_packed(corpus: PreparedCorpus) -> None:
    packed = pack(corpus.source, corpus.target, 64)
    expected = Counter(
        (tuple(corpus.source[index].tolist()), tuple(corpus.target[index].tolist())) for index in range(len(corpus))
    )
    assert packed.left_out == 0
    assert pairs_of(packed) == expected


def test_packing_stays_as_it_was() -> None:
    """Runs are taken up again by the number of an update: the rows of a corpus must never change."""
    pairs = random_pairs(40_000, 20, 25)
    packed = pack_pairs(pairs, 128, seed=3)
    counts = np.diff(packed.begins)
    lengths = np.array([[len(side) + 1 for side in pairs[number]] for number in packed.pairs])
    before = np.cumsum(lengths, axis=0) - lengths
    starts = before - np.repeat(before[packed.begins[:-1]], counts, axis=0)  # in their rows
    found = hashlib.sha256()
    rows = [side.astype("<u2") for side in all_rows(packed)]
    for array in (*rows, packed.pairs, np.repeat(np.arange(len(packed)), counts), starts):
        found.update(np.ascontiguousarray(array).tobytes())
    assert found.hexdigest()[:16] == "7bc3dbb4a7215a3f"


def test_pairs_are_packed_as_often_as_they_are_drawn() -> None:
    pairs = random_pairs(300, 8, 8)
    counts = np.random.default_rng(2).integers(0, 4, len(pairs))
    draws = np.repeat(np.arange(len(pairs)), counts)
    source, target = (side_of([pair[side] for pair in pairs]) for side in (0, 1))

    def times(first: int, end: int) -> np.ndarray:
        return counts[first:end]

    packed = pack(source, target, 64, times=times)
    assert pairs_of(packed) == Counter(pairs[number] for number in draws)
    assert sorted(packed.pairs.tolist()) == draws.tolist()
    assert len(pack(source, target, 64, most=100, times=times).pairs) == 100


# -- shards ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus of a few hundred pairs has several shards."""
    monkeypatch.setattr(packing, "_SHARD_PAIRS", 64)
    monkeypatch.setattr(packing, "_BLOCK_PAIRS", 8)


def shards_of(packed: PackedRows) -> list[list[int]]:
    """The pairs of each shard."""
    firsts = packed.begins[packed.shards].tolist()
    return [packed.pairs[first:end].tolist() for first, end in itertools.pairwise(firsts)]


@pytest.mark.usefixtures("small_shards")
@given(st.lists(st.tuples(sentences, sentences), max_size=300), st.integers(3, 50), st.integers(1, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
def test_shards_together_have_every_pair_that_fits(pairs: list[Pair], row_length: int, copies: int) -> None:
    pairs = [*pairs, ((7,), (8,))]
    counts = 1 + np.arange(len(pairs)) % copies
    source, target = (side_of([pair[side] for pair in pairs]) for side in (0, 1))
    packed = pack(source, target, row_length, times=lambda first, end: counts[first:end])
    drawn = [pairs[number] for number in np.repeat(np.arange(len(pairs)), counts)]
    fits = fitting(drawn, packed)
    assert pairs_of(packed) == Counter(fits)
    assert packed.left_out == len(drawn) - len(fits)
    assert packed.tokens == tuple(sum(len(pair[side]) + 1 for pair in fits) for side in (0, 1))
    assert len(packed.shards) - 1 == -(-len(drawn) // 64)


@pytest.mark.usefixtures("small_shards")
def test_a_shard_has_blocks_from_all_of_the_corpus() -> None:
    packed = pack_pairs(random_pairs(1_280, 8, 8), 64)
    shards = shards_of(packed)
    assert [len(shard) for shard in shards] == [64] * 20
    for shard in shards:
        assert len({number // 8 for number in shard}) == 8  # whole blocks, which are read in one go
        assert len({number // 160 for number in shard}) > 2  # of eight parts of the corpus
    assert packed.padding < 0.2


@pytest.mark.usefixtures("small_shards")
def test_copies_of_a_pair_are_in_different_shards() -> None:
    pairs = random_pairs(640, 8, 8)
    source, target = (side_of([pair[side] for pair in pairs]) for side in (0, 1))
    packed = pack(source, target, 64, times=lambda first, end: np.full(end - first, 4))
    apart = [len(set(shard)) / len(shard) for shard in shards_of(packed)]
    assert len(apart) == 40 and np.mean(apart) > 0.85


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize(("most", "shards"), [(30, 1), (64, 1), (200, 4), (640, 10), (9_999, 10)])
def test_a_choice_of_pairs_comes_from_everywhere(most: int, shards: int) -> None:
    pairs = random_pairs(640, 8, 8)
    source, target = (side_of([pair[side] for pair in pairs]) for side in (0, 1))
    packed = pack(source, target, 64, most=most)
    assert len(packed.pairs) == len(set(packed.pairs.tolist())) == min(most, 640)
    assert len(packed.shards) - 1 == shards
    assert len({number // 160 for number in packed.pairs.tolist()}) == 4


@pytest.mark.usefixtures("small_shards")
def test_rows_of_a_folder_are_those_in_memory(corpus: PreparedCorpus, tmp_path: Path) -> None:
    def packed(seed: int = 1, most: int = 300) -> PackedRows:
        return packed_corpus(corpus, 64, seed, most, tmp_path / "rows", Progress(visible=False))

    stored = packed()
    in_memory = pack(corpus.source, corpus.target, 64, most=300)
    assert np.array_equal(all_rows(stored), all_rows(in_memory)) and stored.shards.tolist() == in_memory.shards.tolist()
    assert stored.tokens == in_memory.tokens and stored.left_out == in_memory.left_out
    written = (tmp_path / "rows" / "pairs").stat().st_mtime_ns
    assert packed().tokens == stored.tokens and (tmp_path / "rows" / "pairs").stat().st_mtime_ns == written
    assert packed(most=200).pairs.size == 200  # others take their place
    path = tmp_path / "rows" / "begins"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(WeftError, match="begins: not as it was written; remove the folder to pack the corpus again"):
        packed(most=200)
