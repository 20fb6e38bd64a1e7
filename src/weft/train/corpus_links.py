"""The stage that aligns the training corpus: links between pieces, for guided layers to learn from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from weft.config import OptimisationConfig
from weft.model.extraction import best_cell_links, mean_links
from weft.model.system import AlignmentSystem, PairRows
from weft.progress import Progress
from weft.text.batches import PackedRows
from weft.text.piece_links import PieceLinks, gather_links, links_from_file, open_links, save_links
from weft.text.prepared import PreparedCorpus
from weft.train.distributed import Process
from weft.train.resident import ResidentRows

Extraction = Callable[[PairRows], Tensor]
"""From a batch to its links, (batch, target, source)."""


def bidirectional_links(system: AlignmentSystem, optimisation: OptimisationConfig) -> Extraction:
    """Links as bidirectional attention optimisation gives them."""

    def extract(pair: PairRows) -> Tensor:
        return best_cell_links(*system.bidirectional_attention(pair, optimisation), pair.target, pair.source)

    return extract


def attention_links(system: AlignmentSystem, layer: int) -> Extraction:
    """Links of the translation models' own attention, mean over the heads of a decoder layer."""

    def extract(pair: PairRows) -> Tensor:
        return best_cell_links(*system.plain_attention(pair, layer), pair.target, pair.source)

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
    """The links of all packed pairs, from ``folder`` if they are there; ``made`` says how they come about."""
    if process.first and open_links(folder, corpus, made) is None:
        with Progress() as progress:
            cells = align_rows(packed, extract, process.device, progress)
            save_links(folder, gather_links(packed, len(corpus), *cells), corpus, made)
    process.wait()
    links = open_links(folder, corpus, made)
    assert links is not None
    return links


def file_links(corpus: PreparedCorpus, file: str, folder: Path, process: Process) -> PieceLinks:
    """The links of a file, as pieces."""
    made = {"file": file}
    if process.first and open_links(folder, corpus, made) is None:
        save_links(folder, links_from_file(file, corpus), corpus, made)
    process.wait()
    links = open_links(folder, corpus, made)
    assert links is not None
    return links


def align_rows(
    packed: PackedRows, extract: Extraction, device: torch.device, progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The links of packed rows: of each its row, its source place and its target place. Three times (links,)"""
    rows = ResidentRows(packed, device)
    batch = 288 if device.type == "cuda" else 16
    found: list[Tensor] = []
    progress.phase("aligning the corpus", len(packed), "rows")
    for first in range(0, len(packed), batch):
        chosen = torch.arange(first, min(first + batch, len(packed)), device=device)
        cells = extract(rows.pair(chosen)).nonzero()
        cells[:, 0] += first
        found.append(cells.int())
        progress.advance(len(chosen))
    row, target, source = torch.cat(found).cpu().numpy().astype(np.int64).T
    return row, source, target
