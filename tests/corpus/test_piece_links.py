"""Links of a corpus: from rows to pairs and back, from files of any aligner, and damage."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from weft.corpus.packing import pack
from weft.corpus.piece_links import PieceLinks, gather_links, open_links, save_links, spread_links
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError


def random_links(corpus: PreparedCorpus, seed: int) -> PieceLinks:
    """Up to four links for each pair, in the order in which links are kept."""
    random = np.random.default_rng(seed)
    cells, counts = [], []
    for source, target in zip(corpus.source.lengths, corpus.target.lengths, strict=True):
        chosen = {(random.integers(target), random.integers(source)) for _ in range(random.integers(5))}
        cells += [(s, t) for t, s in sorted(chosen)]
        counts.append(len(chosen))
    return PieceLinks(np.array(cells, np.uint16), np.concatenate([[0], np.cumsum(counts)]))


def test_links_go_into_rows_and_come_back(corpus: PreparedCorpus) -> None:
    links = random_links(corpus, 1)
    packed = pack(corpus.source, corpus.target, 64)
    spread = spread_links(links, packed)
    cells = packed.source.shape[1] * packed.target.shape[1]
    row, column = np.nonzero(spread < cells)
    target, source = np.divmod(spread[row, column], packed.source.shape[1])
    again = gather_links(packed, len(corpus), row, source, target)
    assert (again.offsets == links.offsets).all() and (again.cells == links.cells).all()


def test_links_in_rows_join_the_pieces_that_they_join_in_pairs(corpus: PreparedCorpus) -> None:
    links = random_links(corpus, 2)
    packed = pack(corpus.source, corpus.target, 64, most=100)
    assert len(packed.pairs) == 100
    spread = spread_links(links, packed)
    for place in (0, 17, 99):
        pair, row, start = packed.pairs[place], packed.row_of_pair[place], packed.starts[place]
        for source, target in links[pair].astype(int):
            assert packed.source[row, start[0] + source] == corpus.source[pair][source]
            assert packed.target[row, start[1] + target] == corpus.target[pair][target]
            number = (start[1] + target) * packed.source.shape[1] + start[0] + source
            assert number in spread[row]


def test_a_folder_is_opened_only_for_what_it_was_made_for(corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    links = random_links(corpus, 3)
    save_links(folder, links, corpus)
    opened = open_links(folder, corpus)
    assert (opened.cells == links.cells).all() and (opened.offsets == links.offsets).all()
    other = dataclasses.replace(corpus, manifest=dataclasses.replace(corpus.manifest, files={}))
    with pytest.raises(WeftError, match="links of another corpus"):
        open_links(folder, other)
    (folder / "cells").write_bytes(b"1234")
    with pytest.raises(WeftError, match="not as it was written"):
        open_links(folder, corpus)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(WeftError, match="damaged: not JSON; remove the folder"):
        open_links(folder, corpus)


def test_pairs_that_are_drawn_twice_have_the_links_of_one_copy(corpus: PreparedCorpus) -> None:
    links = random_links(corpus, 4)
    draws = np.repeat(np.arange(len(corpus)), 1 + np.arange(len(corpus)) % 3)
    packed = pack(corpus.source, corpus.target, 64, draws=draws)
    spread = spread_links(links, packed)
    row, column = np.nonzero(spread < packed.source.shape[1] * packed.target.shape[1])
    assert len(row) == np.diff(links.offsets)[draws].sum()  # all copies learn from them
    target, source = np.divmod(spread[row, column], packed.source.shape[1])
    again = gather_links(packed, len(corpus), row, source, target)
    assert (again.offsets == links.offsets).all() and (again.cells == links.cells).all()
