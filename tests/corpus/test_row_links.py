"""Links of packed rows: written in parts, put together, taken in batches, and damage."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from weft.corpus.prepared import PreparedCorpus
from weft.corpus.row_links import RowLinks, open_links, save_links, write_part
from weft.errors import WeftError

LENGTHS = (48, 64)  # of rows


def random_links(rows: int) -> list[np.ndarray]:
    """Up to four links for each row, (links, 2) each."""
    random = np.random.default_rng(1)
    return [random.integers(0, LENGTHS, (random.integers(5), 2)) for _ in range(rows)]


def saved(links: list[np.ndarray], corpus: PreparedCorpus, folder: Path) -> RowLinks:
    """Write links in two parts, some rows at a time."""
    parts = [folder.with_name(f"{folder.name}.part-{number}") for number in (0, 1)]
    for part, own in zip(parts, (links[:30], links[30:]), strict=True):
        blocks = [own[first : first + 7] for first in range(0, len(own), 7)]
        write_part(part, ((np.array([len(row) for row in block]), np.concatenate(block)) for block in blocks))
    save_links(folder, parts, corpus)
    assert not list(folder.parent.glob("*.part-*"))
    return open_links(folder, corpus)


def test_links_come_back_row_by_row(corpus: PreparedCorpus, tmp_path: Path) -> None:
    links = random_links(100)
    opened = saved(links, corpus, tmp_path / "links")
    assert len(opened) == 100 and opened.most == max(map(len, links))
    assert all(np.array_equal(opened[row], links[row]) for row in range(100))


def test_rows_are_taken_as_numbers_of_cells(corpus: PreparedCorpus, tmp_path: Path) -> None:
    links = random_links(100)
    opened = saved(links, corpus, tmp_path / "links")
    rows = np.array([99, 3, 3, 50])
    numbers = opened.take(rows, LENGTHS)
    assert numbers.shape == (4, opened.most)
    for row, found in zip(rows, numbers.tolist(), strict=True):
        wanted = [int(target * 48 + source) for source, target in links[row]]
        assert found == wanted + [48 * 64] * (opened.most - len(wanted))


def test_no_links_at_all(corpus: PreparedCorpus, tmp_path: Path) -> None:
    opened = saved([np.empty((0, 2), np.int64)] * 40, corpus, tmp_path / "links")
    assert opened.most == 1 and (opened.take(np.arange(40), LENGTHS) == 48 * 64).all()


def test_a_folder_is_opened_only_for_what_it_was_made_for(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    saved(random_links(100), corpus, folder)
    other = dataclasses.replace(corpus, manifest=dataclasses.replace(corpus.manifest, files={}))
    with pytest.raises(WeftError, match="links of another corpus"):
        open_links(folder, other)
    (folder / "cells").write_bytes(b"1234")
    with pytest.raises(WeftError, match="not as it was written"):
        open_links(folder, corpus)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(WeftError, match="damaged: not JSON; remove the folder"):
        open_links(folder, corpus)
