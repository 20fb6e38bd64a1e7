"""The stage of Garg et al. (2019): one model for translation and alignment, all of its weights trained for both.

A head of the decoder learns to point at given links. For that the decoder reads the whole target sentence, without the
mask that keeps it from looking ahead; for translation it reads with the mask, as ever. The links are those of the
translation models' own attention, averaged over heads, or any others.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from weft.config import Direction, JointConfig
from weft.errors import WeftError
from weft.model.alignment import masked_softmax
from weft.model.losses import guided_loss
from weft.model.system import DIRECTIONS, Attention, PairRows, half_precision
from weft.model.translation import TranslationModel
from weft.progress import Progress
from weft.text.batches import PackedRows, RowOrder
from weft.text.piece_links import PieceLinks
from weft.text.subwords import PAD
from weft.train.checkpoint import binding_settings, load_weights, save_weights
from weft.train.distributed import Process
from weft.train.guide import RowLinks
from weft.train.loop import Trainer, train
from weft.train.stage import WEIGHTS
from weft.train.translate import TranslationTask


class JointTask(TranslationTask):
    """L_t + λ·L_a."""

    figures = ("plain_loss", "alignment_loss")

    def __init__(
        self,
        model: TranslationModel,
        rows: PackedRows,
        links: PieceLinks,
        direction: Direction,
        config: JointConfig,
        device: torch.device,
    ) -> None:
        seen = rows if direction == "forward" else rows.swapped()
        super().__init__(model, seen, config.training, device)
        self._links, self._direction = RowLinks(links, rows, device), direction
        self._layer, self._weight = config.layer - 1, config.weight

    def sums(self, rows: Tensor) -> Tensor:
        pair = self._rows.pair(rows)
        with self._precision:
            memory = self.module.encode(pair.source)
            states = self.module.decode(pair.target, memory, pair.source)
            logits = head_logits(self.module, memory, pair, self._layer)
        words = self.word_loss(states, pair.target.ids)
        links = self._links.mask(rows)
        wanted = links if self._direction == "forward" else links.mT
        alignment = guided_loss(logits, pair.cells(), wanted, pair.target, pair.source)
        tokens = (pair.target.ids != PAD).sum().float()
        return torch.stack([words.smoothed + self._weight * alignment, tokens, words.plain, alignment.detach()])


def head_logits(model: TranslationModel, memory: Tensor, pair: PairRows, layer: int) -> Tensor:
    """The logits of the head that aligns; the decoder sees the whole target sentence. (batch, target, source)"""
    return model.cross_logits(pair.target, memory, pair.source, layer, causal=False)[:, 0]


@torch.no_grad()
def joint_attention(models: dict[Direction, TranslationModel], layer: int, pair: PairRows) -> Attention:
    """What the aligning heads of both models look at."""
    found = []
    for direction in DIRECTIONS:
        seen = pair.seen(direction)
        with half_precision(models[direction].table.device):
            logits = head_logits(models[direction], models[direction].encode(seen.source), seen, layer)
        found.append(masked_softmax(logits, seen.cells(), 2))
    return Attention(found[0], found[1].mT)


def train_joint(
    models: dict[Direction, TranslationModel],
    config: JointConfig,
    packed: PackedRows,
    links: PieceLinks,
    folder: Path,
    origin: str,
    process: Process,
) -> None:
    """Go on training translation models, now for alignment as well; ``origin`` identifies them and the links."""
    layers = models["forward"].config.decoder_layers
    if config.layer > layers:
        raise WeftError(f"joint.layer is {config.layer}, but the decoder has {layers} layers")
    settings = {"origin": origin, **binding_settings(joint=config)}
    trainers = []
    for direction, model in models.items():
        model.requires_grad_(True)
        if load_weights(folder / direction / WEIGHTS, model, settings):
            continue
        task = JointTask(model, packed, links, direction, config, process.device)
        training = config.training
        rows = packed if direction == "forward" else packed.swapped()
        order = RowOrder.for_budget(rows, training.target_tokens, training.seed, process.rank, process.world)
        trainers.append(Trainer(task, training, order, process, folder / direction, settings))
    if trainers:
        with Progress(visible=process.first) as progress:
            train("translation and alignment", trainers, process, progress)
        if process.first:
            for direction, model in models.items():
                save_weights(folder / direction / WEIGHTS, model, settings)
        process.wait()
    for model in models.values():
        model.to(process.device).eval()
