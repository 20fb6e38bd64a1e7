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
from weft.corpus.piece_links import PieceLinks, gather_links, links_from_file, open_links, save_links
from weft.corpus.prepared import PreparedCorpus
from weft.model.packed_links import best_cell_links, mean_links
from weft.model.rows import Attend, PairRows
from weft.model.system import AlignmentSystem
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.task import ResidentRows

Extraction = Callable[[PairRows], Tensor]
"""From a batch to its links, (batch, target, source)."""


def best_cells(attend: Attend) -> Extraction:
    """The strongest cells of both directions together."""

    def extract(pair: PairRows) -> Tensor:
        return best_cell_links(*attend(pair), pair.target, pair.source)

    return extract


def guided_links(system: AlignmentSystem, threshold: float) -> Extraction:
    """Links of guided layers: where the mean of both attentions is high enough."""

    def extract(pair: PairRows) -> Tensor:
        return mean_links(*system.guided_attention(pair), threshold, pair.target, pair.source)

    return extract


def corpus_links(
    corpus: PreparedCorpus,
    packed: PackedRows,
    extract: Extraction,
    folder: Path,
    made: dict[str, Any],
    process: Process,
) -> PieceLinks:
    """The links of all packed pairs, from ``folder`` if they are there; ``made`` says how they come about.

    Several processes share the rows and leave what they find in files for the first one.
    """
    links = open_links(folder, corpus, made)
    if links is not None:
        return links
    began = time.perf_counter()
    parts = [folder.with_name(f"{folder.name}.part-{rank}.npy") for rank in range(process.world)]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Progress(visible=process.first) as progress:
        np.save(parts[process.rank], align_rows(packed, extract, process, progress))
    process.wait()
    if process.first:
        cells = np.concatenate([np.load(part) for part in parts])
        save_links(folder, gather_links(packed, len(corpus), *cells.T), corpus, made, time.perf_counter() - began)
        for part in parts:
            part.unlink()
    process.wait()
    return _opened(folder, corpus, made)


def file_links(corpus: PreparedCorpus, file: str, folder: Path, process: Process) -> PieceLinks:
    """The links of a file, as pieces."""
    made = {"file": file}
    if process.first and open_links(folder, corpus, made) is None:
        save_links(folder, links_from_file(file, corpus), corpus, made)
    process.wait()
    return _opened(folder, corpus, made)


def _opened(folder: Path, corpus: PreparedCorpus, made: dict[str, Any]) -> PieceLinks:
    links = open_links(folder, corpus, made)
    assert links is not None
    return links


def align_rows(packed: PackedRows, extract: Extraction, process: Process, progress: Progress) -> np.ndarray:
    """The links of this process's share of packed rows: row, source place, target place. (links, 3)"""
    device = process.device
    rows = ResidentRows(packed, device)
    batch = 288 if device.type == "cuda" else 16
    share = range(process.rank * len(packed) // process.world, (process.rank + 1) * len(packed) // process.world)
    found = [torch.zeros(0, 3, dtype=torch.int32, device=device)]
    progress.phase("aligning the corpus", len(share), "rows")
    for first in range(share.start, share.stop, batch):
        chosen = torch.arange(first, min(first + batch, share.stop), device=device)
        cells = extract(rows.pair(chosen)).nonzero()  # (links, 3): row, target, source
        found.append((cells[:, [0, 2, 1]] + torch.tensor([first, 0, 0], device=device)).int())
        progress.advance(len(chosen))
    return torch.cat(found).cpu().numpy().astype(np.int64)
