"""Lines that are sorted on disk are those that are sorted in memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text import sorted_lines
from weft.text.sorted_lines import SortedLines


@given(lines=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_lines_are_sorted_and_different(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_lines, "_HELD_BYTES", 500)
        patch.setattr(sorted_lines, "_MOST_RUNS", 2)
        found = SortedLines(tmp_path_factory.mktemp("lines"), "some")
        found.add(lines)
        found.add(lines[::2])
        assert list(found) == sorted(set(lines))
