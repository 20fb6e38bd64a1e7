"""The stage that aligns the training corpus: links between pieces, for guided layers to learn from."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.corpus.packing import PackedRows
from weft.corpus.piece_links import PieceLinks, gather_links, open_links, save_links
from weft.corpus.prepared import PreparedCorpus
from weft.model.packed_links import best_cell_links
from weft.model.rows import Attend, PairRows
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.stages import finish, is_finished
from weft.train.task import ResidentRows, Text

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
) -> PieceLinks:
    """Find the links of all pairs of a text, or open them if that was done; ``settings`` say how they are found.

    Several processes share the rows and leave what they find in files for the first one.
    """
    if not is_finished(folder, settings):
        began = time.perf_counter()
        parts = [folder.with_name(f"{folder.name}.part-{rank}.npy") for rank in range(process.world)]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with Progress(visible=process.first) as progress:
            np.save(parts[process.rank], align_rows(text.rows, extract, process, progress))
        process.wait()
        if process.first:
            cells = np.concatenate([np.load(part) for part in parts])
            save_links(folder, gather_links(text.rows, len(corpus), *cells.T), corpus)
            finish(folder, settings, time.perf_counter() - began)
            for part in parts:
                part.unlink()
        process.wait()
    return open_links(folder, corpus)


def align_rows(packed: PackedRows, extract: Extraction, process: Process, progress: Progress) -> np.ndarray:
    """Find the links of this process's share of packed rows. Returns row, source place, target place. (links, 3)"""
    device = process.device
    rows = ResidentRows(packed, device)
    batch = _BATCH_ROWS[device.type]
    share = range(process.rank * len(packed) // process.world, (process.rank + 1) * len(packed) // process.world)
    found = [torch.zeros(0, 3, dtype=torch.int32, device=device)]
    progress.phase("aligning the corpus", len(share), "rows")
    for first in range(share.start, share.stop, batch):
        chosen = torch.arange(first, min(first + batch, share.stop), device=device)
        cells = extract(rows.pair(chosen)).nonzero()  # (links, 3): row, target, source
        found.append((cells[:, [0, 2, 1]] + torch.tensor([first, 0, 0], device=device)).int())
        progress.advance(len(chosen))
    return torch.cat(found).cpu().numpy().astype(np.int64)
