"""The stage that trains the alignment layers of both directions, side by side, on frozen translation models."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor, nn

from weft.config import AlignmentConfig
from weft.corpus.packing import PackedRows, pack
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.losses import agreement_loss, contiguity_loss
from weft.model.rows import DIRECTIONS, is_word, masked_softmax
from weft.model.system import AlignmentSystem
from weft.progress import say
from weft.text.subwords import END, PAD
from weft.train.checkpoint import binding_settings
from weft.train.distributed import Process
from weft.train.task import ResidentRows, precision, train_stage


class Collapsed(Exception):
    """The layers have found a way to low losses that is no alignment."""


class AlignmentTask:
    """Predict every word from one context vector: L_F + L_B + λ·L_C, and where asked for, agree.

    Layers can collapse, with losses that look healthy: every word looks at the same place, or beside its translation.
    Then the two directions disagree, or attention flows to end-of-sentence; both are figures of the log.
    """

    figures = ("forward_loss", "backward_loss", "contiguity_loss", "agreement", "null_share")

    def __init__(
        self,
        system: AlignmentSystem,
        layers: nn.ModuleList,
        rows: PackedRows,
        config: AlignmentConfig,
        device: torch.device,
    ) -> None:
        self.system, self.config = system, config
        self.module = layers.to(device).train()
        self._rows = ResidentRows(rows, device)
        self._precision = precision(config.training, device)
        self._agreement_weight = torch.zeros((), device=device)

    def begin(self, fraction: float) -> None:
        """The agreement loss comes in from 20 % to 40 % of the updates, when both layers have something to agree on."""
        self._agreement_weight.fill_(self.config.agreement * min(1, max(0, (fraction - 0.2) / 0.2)))

    def sums(self, rows: Tensor) -> Tensor:
        pair = self._rows.pair(rows)
        attention, word_losses, contiguity, null = [], [], [], []
        for direction in DIRECTIONS:
            seen = pair.seen(direction)
            with self._precision:
                logits, predictor = self.system.models[direction].predictor(seen)
                attention.append(masked_softmax(logits, seen.cells(), 2))
                word_losses.append(predictor.word_loss(attention[-1]))
            contiguity.append(contiguity_loss(attention[-1], seen.target, seen.source, self.config.kernel))
            on_end = (attention[-1] * (seen.source.ids == END)[:, None]).sum(2)
            null.append((on_end * is_word(seen.target.ids)).sum())
        forward, backward = attention[0], attention[1].mT
        loss = word_losses[0] + word_losses[1] + self.config.contiguity * (contiguity[0] + contiguity[1])
        if self.config.agreement:
            loss = loss + self._agreement_weight * agreement_loss(forward, backward, pair.target, pair.source)
        both_words = is_word(pair.target.ids)[:, :, None] & is_word(pair.source.ids)[:, None]
        agreed = (forward * backward * both_words).sum()
        tokens = [(side.ids != PAD).sum() for side in (pair.target, pair.source)]
        words = [is_word(side.ids).sum() for side in (pair.target, pair.source)]
        figures = [
            word_losses[0] / tokens[0],
            word_losses[1] / tokens[1],
            (contiguity[0] + contiguity[1]) / (words[0] + words[1]),
            agreed / torch.minimum(*words),
            (null[0] + null[1]) / (words[0] + words[1]),
        ]
        total = tokens[0] + tokens[1]
        # The loop divides sums by the number of all tokens, but each of these is a mean already.
        return torch.stack([loss, total.float(), *(figure * total for figure in figures)])

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Raise Collapsed in the second half of training if the layers are not aligning."""
        if fraction < 0.5:
            return
        if report["agreement"] < self.config.least_agreement:
            raise Collapsed(f"the two directions agree on {report['agreement']:.1%} of their attention")
        if report["null_share"] > self.config.most_null:
            raise Collapsed(f"{report['null_share']:.1%} of the attention is on end-of-sentence")


def train_alignment(
    system: AlignmentSystem, corpus: PreparedCorpus, folder: Path, translation: str, process: Process
) -> Path:
    """Give a system trained alignment layers; ``translation`` identifies the models below them. The file they are in.

    Layers that collapse are trained again from other weights, a few times, each in a folder of its own.
    """
    config = system.alignment
    for attempt in range(config.restarts + 1):
        training = dataclasses.replace(config.training, seed=config.training.seed + attempt)
        own_config = dataclasses.replace(config, training=training)
        own_folder = folder if attempt == 0 else folder.with_name(f"{folder.name}-restart-{attempt}")
        collapsed = own_folder / "collapsed.txt"
        if collapsed.exists():
            continue
        try:
            return _train_once(system, corpus, own_config, own_folder, translation, process)
        except Collapsed as problem:
            process.wait()
            if process.first:
                collapsed.write_text(f"{problem}\n", encoding="utf-8")
                say(f"the alignment layers have collapsed: {problem}; starting again from other weights")
            process.wait()
    raise WeftError(
        f"{folder}: the alignment layers collapsed in each of {config.restarts + 1} attempts, see collapsed.txt there; "
        "train the translation models for longer, or try another alignment.logit_dropout or alignment.agreement"
    )


def _train_once(
    system: AlignmentSystem,
    corpus: PreparedCorpus,
    config: AlignmentConfig,
    folder: Path,
    translation: str,
    process: Process,
) -> Path:
    training = config.training
    torch.manual_seed(training.seed)
    layers = system.new_alignment_layers(config)
    return train_stage(
        "alignment layers",
        layers,
        lambda: pack(corpus.source, corpus.target, training.row_length, training.seed),
        lambda rows: AlignmentTask(system, layers, rows, config, process.device),
        training,
        folder,
        {"translation": translation, **binding_settings(alignment=config)},
        process,
    )
