"""The stage that trains the guided layers of both directions on links of the training corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from weft.config import GuidedConfig
from weft.corpus.row_links import RowLinks
from weft.model.losses import guided_loss
from weft.model.rows import DIRECTIONS, PairRows, is_word, masked_softmax
from weft.model.system import AlignmentSystem
from weft.train.distributed import Process
from weft.train.loop import train_stage
from weft.train.stages import binding_settings
from weft.train.task import Sums, Task, Text


class GuidedTask(Task):
    """Put attention where the links are, knowing the whole target sentence: the paper's L_a in both directions."""

    figures = ("forward_loss", "backward_loss", "agreement")

    def __init__(
        self,
        system: AlignmentSystem,
        layers: nn.ModuleList,
        text: Text,
        links: RowLinks,
        config: GuidedConfig,
        device: torch.device,
    ) -> None:
        super().__init__(layers, text, config.training, device)
        self.system, self._links = system, links

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        return *super().batch(rows), self._links.take(rows, self.text.rows.lengths)

    def sums(self, batch: Sequence[Tensor]) -> Sums:
        source, target, numbers = batch
        pair = PairRows.of(source, target)
        links = _mask(numbers, target.shape[1], source.shape[1])
        with self.precision:
            guided = self.system.guided_logits(pair)
        losses, attention = [], []
        for direction, logits in zip(DIRECTIONS, guided, strict=True):
            seen = pair.seen(direction)
            cells = seen.cells()
            wanted = links if direction == "forward" else links.mT
            losses.append(guided_loss(logits, cells, wanted, seen.target, seen.source))
            attention.append(masked_softmax(logits, cells, 2))
        counts = [is_word(side.ids).sum() for side in (pair.target, pair.source)]
        agreed = (attention[0] * attention[1].mT * pair.word_cells()).sum()
        figures = (losses[0] / counts[0], losses[1] / counts[1], agreed / torch.minimum(*counts))
        return Sums(losses[0] + losses[1], counts[0] + counts[1], figures)


def _mask(numbers: Tensor, target: int, source: int) -> Tensor:
    """Return True where rows have links, which are given as numbers of cells. (batch, target, source)"""
    marks = torch.zeros(len(numbers), target * source + 1, dtype=torch.bool, device=numbers.device)
    return marks.scatter(1, numbers.long(), True)[:, :-1].view(-1, target, source)


def train_guided(
    system: AlignmentSystem,
    config: GuidedConfig,
    text: Text,
    links: RowLinks,
    folder: Path,
    below: dict[str, str],
    process: Process,
) -> None:
    """Put trained guided layers into a system; ``below`` identifies the text, models and links."""
    torch.manual_seed(config.training.seed)
    task = GuidedTask(system, system.new_guided_layers(config), text, links, config, process.device)
    train_stage("guided layers", task, folder, {**below, **binding_settings(guided=config)}, process)
