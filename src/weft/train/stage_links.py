"""The stage that aligns the training corpus: links between pieces, for guided layers to learn from."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from weft.corpus.packed_rows import PackedRows
from weft.corpus.prepared import PreparedCorpus
from weft.corpus.row_links import RowLinks, open_links, save_links, write_part
from weft.model.packed_links import best_cell_links
from weft.model.rows import Attend, PairRows
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.stages import finish, is_finished
from weft.train.task import Text, pair_rows

Extraction = Callable[[PairRows], Tensor]
"""Finds the links of a batch. (batch, target, source)"""
_BATCH_ROWS = {"cuda": 288, "cpu": 16}  # about an update of the default size; what a CPU's caches hold


def best_cells(attend: Attend) -> Extraction:
    """Extract the strongest cells of both directions together."""

    def extract(pair: PairRows) -> Tensor:
        return best_cell_links(*attend(pair), pair.target, pair.source)

    return extract


def corpus_links(
    corpus: PreparedCorpus,
    text: Text,
    extract: Extraction,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> RowLinks:
    """Find the links of all rows of a text, or open them if that was done; ``settings`` say how they are found.

    Several processes share the rows and leave what they find in files for the first one.
    """
    if not is_finished(folder, settings):
        began = time.perf_counter()
        parts = [folder.with_name(f"{folder.name}.part-{rank}") for rank in range(process.world)]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Progress(visible=process.first) as progress:
            write_part(parts[process.rank], align_rows(text.rows, extract, process, progress))
        process.wait()
        if process.first:
            save_links(folder, parts, corpus)
            finish(folder, settings, time.perf_counter() - began)
        process.wait()
    return open_links(folder, corpus)


def align_rows(
    packed: PackedRows, extract: Extraction, process: Process, progress: Progress
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Find the links of this process's share of packed rows.

    Yields, for some rows after the other, how many links each has, (rows,), and their source and target places,
    (links, 2).
    """
    device = process.device
    batch = _BATCH_ROWS[device.type]
    share = range(process.rank * len(packed) // process.world, (process.rank + 1) * len(packed) // process.world)
    progress.phase("aligning the corpus", len(share), "rows")
    for first in range(share.start, share.stop, batch):
        rows = np.arange(first, min(first + batch, share.stop))
        cells = extract(pair_rows(packed, rows, device)).nonzero().cpu().numpy()  # (links, 3): row, target, source
        yield np.bincount(cells[:, 0], minlength=len(rows)), cells[:, [2, 1]]
        progress.advance(len(rows))
