"""Counts that are larger than memory are those of memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text import counting, record_files
from weft.text.counting import Table, keys_of, summed, whole_groups

RECORD = np.dtype([("key", "u8"), ("other", "u8"), ("count", "i8"), ("example", "u8"), ("place", "u1")])
BY = ("key", "other")


def records(seed: int, size: int) -> np.ndarray:
    """Records of few different keys, which are spread over all numbers."""
    generator = np.random.default_rng(seed)
    found = np.zeros(size, RECORD)
    found["key"] = keys_of(map(str, generator.integers(0, 20, size)))
    found["other"] = generator.integers(0, 3, size)
    found["count"] = generator.integers(1, 9, size)
    found["example"] = generator.permutation(size)
    found["place"] = found["example"] % 200
    return found


def counted(parts: list[np.ndarray]) -> list[tuple[int, ...]]:
    """The same by a dictionary."""
    counts: Counter[tuple[int, int]] = Counter()
    best: dict[tuple[int, int], int] = {}
    for key, other, count, example, _ in (record for part in parts for record in part.tolist()):
        counts[key, other] += count
        best[key, other] = min(best.get((key, other), example), example)
    return [(*pair, counts[pair], best[pair], best[pair] % 200) for pair in sorted(counts)]


def test_equal_records_become_one_with_the_best_example() -> None:
    assert [tuple(one) for one in summed(records(1, 500), BY).tolist()] == counted([records(1, 500)])
    assert len(summed(np.zeros(0, RECORD), BY)) == 0


@pytest.mark.parametrize(("held", "read"), [(1 << 30, 1 << 30), (5_000, 1_000), (1, 40)])
def test_a_table_is_the_same_in_memory_and_on_disk(
    held: int, read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_HELD_BYTES", held)
    monkeypatch.setattr(counting, "_MOST_RUNS", 3)
    monkeypatch.setattr(record_files, "READ_BYTES", read)
    parts = [records(seed, 100) for seed in range(13)]
    table = Table(tmp_path / "table", RECORD, BY)
    for part in parts:
        table.add(part)
    assert len(list(tmp_path.iterdir())) == {1 << 30: 0, 5_000: 2, 1: 3}[held]  # 13 = 9 + 3 + 1
    for _ in range(2):  # it can be read again
        found = list(table.read())
        assert [tuple(one) for part in found for one in part.tolist()] == counted(parts)
    assert len(found) > 3 or read == 1 << 30
    table.add(parts[0])  # and go on
    assert [tuple(one) for part in table.read() for one in part.tolist()] == counted([*parts, parts[0]])


def test_what_a_table_reads_at_a_time_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_HELD_BYTES", 100 * RECORD.itemsize)
    monkeypatch.setattr(record_files, "READ_BYTES", 100 * RECORD.itemsize)
    table = Table(tmp_path / "table", RECORD, BY)
    for first in range(0, 5_000, 50):
        some = np.ones(50, RECORD)
        some["key"], some["other"] = 7, np.random.default_rng(first).permutation(5_000)[:50]  # all have the same key
        table.add(some)
    found = list(table.read())
    assert sum(map(len, found)) > 3_000 and max(map(len, found)) < 200


@given(numbers=st.lists(st.integers(0, 5), max_size=30), cuts=st.lists(st.integers(0, 30), max_size=5))
def test_groups_are_made_whole(numbers: list[int], cuts: list[int]) -> None:
    whole = np.zeros(len(numbers), RECORD)
    whole["key"] = sorted(numbers)
    parts = [part for part in np.split(whole, sorted(min(cut, len(whole)) for cut in cuts)) if len(part)]
    found = list(whole_groups(parts, ("key",)))
    assert [one for part in found for one in part["key"].tolist()] == sorted(numbers)
    assert sum(len(set(part["key"].tolist())) for part in found) == len(set(numbers))
    assert all(map(len, found))


def test_an_empty_table(tmp_path: Path) -> None:
    assert sum(len(part) for part in Table(tmp_path / "table", RECORD, BY).read()) == 0


def test_keys_are_those_of_the_text_in_every_process() -> None:
    found = keys_of(["Haus", "haus", "Haus"]).tolist()
    assert found == [697045299593435607, 5990433417758303726, 697045299593435607]
