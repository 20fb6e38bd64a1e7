"""The stage that trains the guided layers of both directions on links of the training corpus."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from weft.config import GuidedConfig
from weft.corpus.packing import PackedRows
from weft.corpus.piece_links import PieceLinks, spread_links
from weft.model.losses import guided_loss
from weft.model.rows import DIRECTIONS, is_word, masked_softmax
from weft.model.system import AlignmentSystem
from weft.train.distributed import Process
from weft.train.loop import train_stage
from weft.train.stages import binding_settings
from weft.train.task import Sums, Task, Text


class RowLinks:
    """The links of packed rows, on the device."""

    def __init__(self, links: PieceLinks, rows: PackedRows, device: torch.device) -> None:
        self._numbers = torch.from_numpy(spread_links(links, rows)).to(device)  # (rows, most links) numbers of cells
        self._shape = rows.target.shape[1], rows.source.shape[1]

    def mask(self, rows: Tensor) -> Tensor:
        """Return True where some rows have links. (batch, target, source)"""
        numbers = self._numbers[rows].long()
        target, source = self._shape
        marks = torch.zeros(len(numbers), target * source + 1, dtype=torch.bool, device=numbers.device)
        return marks.scatter(1, numbers, True)[:, :-1].view(-1, target, source)


class GuidedTask(Task):
    """Put attention where the links are, knowing the whole target sentence: the paper's L_a in both directions."""

    figures = ("forward_loss", "backward_loss", "agreement")

    def __init__(
        self,
        system: AlignmentSystem,
        layers: nn.ModuleList,
        text: Text,
        links: PieceLinks,
        config: GuidedConfig,
        device: torch.device,
    ) -> None:
        super().__init__(layers, text, config.training, device)
        self.system, self._piece_links = system, links

    def prepare(self) -> None:
        super().prepare()
        self._links = RowLinks(self._piece_links, self.text.rows, self.device)

    def sums(self, rows: Tensor) -> Sums:
        pair = self.rows.pair(rows)
        links = self._links.mask(rows)
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


def train_guided(
    system: AlignmentSystem,
    config: GuidedConfig,
    text: Text,
    links: PieceLinks,
    folder: Path,
    below: dict[str, str],
    process: Process,
) -> None:
    """Put trained guided layers into a system; ``below`` identifies the text, models and links."""
    torch.manual_seed(config.training.seed)
    task = GuidedTask(system, system.new_guided_layers(config), text, links, config, process.device)
    train_stage("guided layers", task, folder, {**below, **binding_settings(guided=config)}, process)
