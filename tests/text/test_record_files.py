"""Files of records are read and looked through as arrays are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text import record_files
from weft.text.record_files import Lookup, RecordFile

RECORD = np.dtype([("key", "u8"), ("value", "i4")])
LAST_KEY = (1 << 64) - 1


def records(keys: list[int]) -> np.ndarray:
    found = np.zeros(len(keys), RECORD)
    found["key"] = keys
    found["value"] = np.arange(1, len(keys) + 1)
    return found


@pytest.mark.parametrize("nbytes", [1, 40, 0])
def test_a_file_is_read_as_it_was_written_as_often_as_needed(nbytes: int, tmp_path: Path) -> None:
    file, written = RecordFile(tmp_path / "file", RECORD), records(list(range(10)))
    assert list(file.read(nbytes)) == []
    for part in np.split(written, [3, 3, 8]):
        file.append(part)
    assert (len(file), file.nbytes) == (10, 120)
    for _ in range(2):
        parts = list(file.read(nbytes))
        assert np.array_equal(np.concatenate(parts), written)
        assert len(parts) == {1: 10, 40: 4, 0: 1}[nbytes]
    file.remove()
    assert not any(tmp_path.iterdir())


@given(
    keys=st.sets(st.integers(0, 40) | st.integers(0, LAST_KEY)),
    wanted=st.lists(st.integers(0, 40) | st.sampled_from([0, LAST_KEY])),
    size=st.integers(1, 50),
)
def test_a_lookup_finds_what_a_dictionary_finds(
    keys: set[int], wanted: list[int], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stored = records(sorted(keys))
    known = dict(stored.tolist())
    parts = [stored[first : first + size] for first in range(0, len(stored), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_files, "_WINDOW", 4)
        lookup = Lookup(tmp_path_factory.mktemp("lookup") / "some", RECORD, "key", parts)
        asked = [*wanted, *keys]
        found = lookup.find(np.array(asked, np.uint64))
    assert found["value"].tolist() == [known.get(key, 0) for key in asked]
    assert found["key"].tolist() == [key if key in known else 0 for key in asked]


def test_a_lookup_holds_nothing_of_what_it_was_made_of(tmp_path: Path) -> None:
    def parts() -> Iterator[np.ndarray]:
        for first in range(0, 2_000_000, 10_000):
            yield records(list(range(first, first + 10_000)))

    tracemalloc.start()
    lookup = Lookup(tmp_path / "some", RECORD, "key", parts())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000  # of 24 MB
    assert lookup.find(np.array([1_999_999], np.uint64))["value"].tolist() == [10_000]
