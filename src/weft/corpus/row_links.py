"""Links between the pieces of packed rows: made by one stage for millions of pairs, learned by the next.

A folder, like that of the rows:

manifest.json   counts, and the checksum of the corpus
cells           (links, 2): the places of a source piece and of a target piece in their rows
offsets         where each row's links begin in cells (rows + 1 numbers)
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.corpus.packed_rows import stretches
from weft.corpus.prepared import PreparedCorpus, mapped
from weft.errors import WeftError
from weft.storage import atomic_folder, read_description, write_json

FORMAT = "weft row links 1"
_COUNT = "<u2"  # a row has a few hundred links at most
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class RowLinks:
    """The links of all rows of a corpus."""

    cells: np.ndarray  # (links, 2) source place, target place
    offsets: np.ndarray  # (rows + 1,)
    most: int
    """Links of a row."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.cells[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: np.ndarray, lengths: tuple[int, int]) -> np.ndarray:
        """Return the links of some rows as numbers of cells, ``target · source length + source``. (rows, most)

        ``lengths`` are the places of a row on each side. Rows with fewer links are filled with the number of all cells.
        """
        firsts = self.offsets[rows]
        counts = self.offsets[rows + 1] - firsts
        source, target = self.cells[stretches(firsts, counts)].astype(np.int32).T
        numbers = np.full((len(rows), self.most), lengths[0] * lengths[1], np.int32)
        numbers[np.arange(self.most) < counts[:, None]] = target * lengths[0] + source
        return numbers


def write_part(part: Path, found: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Write links of some rows, given for one stretch of rows after the other: how many each row has, and their cells.

    ``part`` becomes two files whose names begin with its name.
    """
    cells_path, counts_path = _files(part)
    with cells_path.open("wb") as cells_file, counts_path.open("wb") as counts_file:
        for counts, cells in found:
            cells_file.write(cells.astype("<u2").tobytes())
            counts_file.write(counts.astype(_COUNT).tobytes())


def save_links(folder: Path, parts: Sequence[Path], corpus: PreparedCorpus) -> None:
    """Put the links of all rows of a corpus into a folder, and remove the parts that they were written in."""
    with atomic_folder(folder) as partial:
        with (partial / "cells").open("wb") as cells_file, (partial / "offsets").open("wb") as offsets_file:
            offsets_file.write(np.zeros(1, "<i8").tobytes())
            rows = links = 0
            most = 1  # of a row; arrays of none would be of no use
            for cells_path, counts_path in map(_files, parts):
                with cells_path.open("rb") as part_file:
                    shutil.copyfileobj(part_file, cells_file)
                with counts_path.open("rb") as part_file:
                    while chunk := part_file.read(_CHUNK_BYTES):
                        counts = np.frombuffer(chunk, _COUNT).astype("<i8")
                        offsets_file.write((links + np.cumsum(counts)).tobytes())
                        rows, links, most = rows + len(counts), links + int(counts.sum()), max(most, int(counts.max()))
        found = {"rows": rows, "links": links, "most": most}
        write_json(partial / "manifest.json", {"format": FORMAT, "corpus": corpus.checksum, **found})
    for path in itertools.chain.from_iterable(map(_files, parts)):
        path.unlink()


def _files(part: Path) -> tuple[Path, Path]:
    return part.with_name(f"{part.name}.cells"), part.with_name(f"{part.name}.counts")


def open_links(folder: Path, corpus: PreparedCorpus) -> RowLinks:
    """Open the links of a corpus. Raises WeftError if they are damaged or of another corpus."""
    remedy = "; remove the folder to make the links again"
    manifest = read_description(
        folder / "manifest.json", FORMAT, "folder of links", remedy, needs=("corpus", "rows", "links", "most")
    )
    if manifest["corpus"] != corpus.checksum:
        raise WeftError(f"{folder}: links of another corpus{remedy}")
    for name, size in (("cells", 4 * manifest["links"]), ("offsets", 8 * (manifest["rows"] + 1))):
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            raise WeftError(f"{folder}: not as it was written{remedy}")
    cells = mapped(folder / "cells", "<u2").reshape(-1, 2)
    return RowLinks(cells, mapped(folder / "offsets", "<i8"), manifest["most"])
