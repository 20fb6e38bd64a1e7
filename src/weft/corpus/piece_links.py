"""Links between the pieces of a prepared corpus: made by one stage for millions of pairs, learned by the next.

A folder, like a prepared corpus:

manifest.json   counts, and the checksum of the corpus
cells           (links, 2): the source piece and the target piece, each counted from zero in its sentence
offsets         where each pair's links begin in cells (pairs + 1 numbers)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.corpus.packing import PackedRows
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.storage import atomic_folder, read_description, write_array, write_json

FORMAT = "weft piece links 1"


@dataclass(frozen=True)
class PieceLinks:
    """The links of all pairs of a corpus."""

    cells: np.ndarray  # (links, 2) source piece, target piece
    offsets: np.ndarray  # (pairs + 1,)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, pair: int) -> np.ndarray:
        return self.cells[self.offsets[pair] : self.offsets[pair + 1]]


def gather_links(packed: PackedRows, pairs: int, row: np.ndarray, source: np.ndarray, target: np.ndarray) -> PieceLinks:
    """Return the links of the ``pairs`` pairs of a corpus, given its links in rows, (links,) each.

    Of pairs that are in the rows several times, the links of the first copy count.
    """
    length = packed.target.shape[1]
    begins = packed.row_of_pair * length + packed.starts[:, 1]  # rising: pairs are in the order of rows and places
    place = np.searchsorted(begins, row * length + target, side="right") - 1
    first_copy = np.zeros(len(packed.pairs), bool)
    first_copy[np.unique(packed.pairs, return_index=True)[1]] = True
    counting = first_copy[place]
    source, target, place = source[counting], target[counting], place[counting]
    pair = packed.pairs[place]
    order = np.lexsort((source, target, pair))
    cells = np.stack([source, target], axis=1) - packed.starts[place]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=pairs))])
    return PieceLinks(cells[order].astype(np.uint16), offsets)


def spread_links(links: PieceLinks, packed: PackedRows) -> np.ndarray:
    """Return the links of rows, as numbers of cells ``target·source_length + source``, given those of the corpus.

    (rows, most links of a row); rows with fewer links are filled with the number of cells of a row.
    """
    counts = np.diff(links.offsets)[packed.pairs]
    owner = np.repeat(np.arange(len(packed.pairs)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    cells = links.cells[links.offsets[:-1][packed.pairs][owner] + within].astype(np.int64) + packed.starts[owner]
    row = packed.row_of_pair[owner]  # rising
    in_row = np.bincount(row, minlength=len(packed))
    column = np.arange(len(row)) - np.repeat(np.cumsum(in_row) - in_row, in_row)
    width = packed.source.shape[1]
    spread = np.full((len(packed), max(1, in_row.max())), width * packed.target.shape[1], np.int32)
    spread[row, column] = cells[:, 1] * width + cells[:, 0]
    return spread


def save_links(folder: Path, links: PieceLinks, corpus: PreparedCorpus) -> None:
    """Write the links of a corpus into a folder."""
    with atomic_folder(folder) as partial:
        write_array(partial / "cells", links.cells.astype("<u2"))
        write_array(partial / "offsets", links.offsets.astype("<i8"))
        counts = {"pairs": len(links), "links": len(links.cells)}
        write_json(partial / "manifest.json", {"format": FORMAT, "corpus": corpus.checksum, **counts})


def open_links(folder: Path, corpus: PreparedCorpus) -> PieceLinks:
    """Open the links of a corpus. Raises WeftError if they are damaged or of another corpus."""
    remedy = "; remove the folder to make the links again"
    manifest = read_description(
        folder / "manifest.json", FORMAT, "folder of links", remedy, needs=("corpus", "pairs", "links")
    )
    if manifest["corpus"] != corpus.checksum:
        raise WeftError(f"{folder}: links of another corpus{remedy}")
    cells, offsets = np.fromfile(folder / "cells", "<u2"), np.fromfile(folder / "offsets", "<i8")
    if len(cells) != 2 * manifest["links"] or len(offsets) != manifest["pairs"] + 1:
        raise WeftError(f"{folder}: not as it was written{remedy}")
    return PieceLinks(cells.reshape(-1, 2), offsets)
