"""Counts that are larger than memory are those of memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text import counting
from weft.text.counting import SortedLines, Table, keys_of, summed

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
    monkeypatch.setattr(counting, "_READ_BYTES", read)
    parts = [records(seed, 100) for seed in range(12)]
    table = Table(tmp_path / "table", RECORD, BY)
    for part in parts:
        table.add(part)
    assert (tmp_path / "table").exists() == (held < 1 << 30)
    for _ in range(2):  # it can be read again
        found = list(table.read())
        assert [tuple(one) for part in found for one in part.tolist()] == counted(parts)
        keys = [set(part["key"].tolist()) for part in found]
        assert sum(map(len, keys)) == len(set().union(*keys))  # none of them in two parts
    assert len(found) > 3 or read == 1 << 30
    table.add(parts[0])  # and go on
    assert [tuple(one) for part in table.read() for one in part.tolist()] == counted([*parts, parts[0]])


def test_an_empty_table(tmp_path: Path) -> None:
    assert sum(len(part) for part in Table(tmp_path / "table", RECORD, BY).read()) == 0


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_lines_are_sorted_and_different(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_HELD_BYTES", 500)
        patch.setattr(counting, "_MOST_RUNS", 2)
        found = SortedLines(tmp_path_factory.mktemp("lines"), "some")
        found.add(lines)
        found.add(lines[::2])
        assert list(found) == sorted(set(lines))


def test_keys_are_those_of_the_text_in_every_process() -> None:
    found = keys_of(["Haus", "haus", "Haus"]).tolist()
    assert found == [697045299593435607, 5990433417758303726, 697045299593435607]
