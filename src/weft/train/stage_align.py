"""The stage that trains the alignment layers of both directions, side by side, on frozen translation models."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from weft.config import AlignmentConfig
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.losses import agreement_loss, contiguity_loss
from weft.model.rows import DIRECTIONS, PairRows, is_word, masked_softmax
from weft.model.system import AlignmentSystem
from weft.progress import say
from weft.text.subwords import END, PAD
from weft.train.distributed import Process
from weft.train.loop import train_stage
from weft.train.stages import ROWS, Part, binding_settings, has_collapsed, record_collapse
from weft.train.task import Sums, Task, Text

# Chosen when the agreement loss was first tried (EXPERIMENTS.md): layers need something to agree on before it comes in.
_AGREEMENT_FROM, _AGREEMENT_TO = 0.2, 0.4  # shares of the training between which its weight rises from 0
_WATCHED_FROM = 0.5  # healthy layers look collapsed in the first part of the training


class Collapsed(Exception):
    """The layers have reached low losses without aligning."""


class AlignmentTask(Task):
    """Predict every word from one context vector: L_F + L_B + λ·L_C of both, and agree if the recipe asks for it.

    Layers can collapse with losses that look healthy: every word looks at the same place, or beside its translation.
    Then the two directions disagree, or attention flows to end-of-sentence; both are figures of the log.
    """

    figures = ("forward_loss", "backward_loss", "contiguity_loss", "agreement", "null_share")

    def __init__(
        self,
        system: AlignmentSystem,
        layers: nn.ModuleList,
        text: Text,
        config: AlignmentConfig,
        device: torch.device,
    ) -> None:
        super().__init__(layers, text, config.training, device)
        self.system, self.config = system, config
        self._agreement_weight = torch.zeros((), device=device)

    def begin(self, fraction: float) -> None:
        """Bring the agreement loss in."""
        risen = (fraction - _AGREEMENT_FROM) / (_AGREEMENT_TO - _AGREEMENT_FROM)
        self._agreement_weight.fill_(self.config.agreement * min(1, max(0, risen)))

    def sums(self, batch: Sequence[Tensor]) -> Sums:
        pair = PairRows.of(*batch)
        attention, word_losses, contiguity, null = [], [], [], []
        for direction in DIRECTIONS:
            seen = pair.seen(direction)
            with self.precision:
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
        agreed = (forward * backward * pair.word_cells()).sum()
        tokens = [(side.ids != PAD).sum() for side in (pair.target, pair.source)]
        words = [is_word(side.ids).sum() for side in (pair.target, pair.source)]
        figures = (
            word_losses[0] / tokens[0],
            word_losses[1] / tokens[1],
            (contiguity[0] + contiguity[1]) / (words[0] + words[1]),
            agreed / torch.minimum(*words),
            (null[0] + null[1]) / (words[0] + words[1]),
        )
        return Sums(loss, tokens[0] + tokens[1], figures)

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Raise Collapsed in the second half of training if the layers are not aligning."""
        if fraction < _WATCHED_FROM:
            return
        if report["agreement"] < self.config.least_agreement:
            raise Collapsed(f"the two directions agree on {report['agreement']:.1%} of their attention")
        if report["null_share"] > self.config.most_null:
            raise Collapsed(f"{report['null_share']:.1%} of the attention is on end-of-sentence")


def train_alignment(
    system: AlignmentSystem, corpus: PreparedCorpus, part: Part, below: dict[str, str], process: Process
) -> None:
    """Put trained alignment layers into a system; ``below`` identifies the text and the models below them.

    Layers that collapse are trained again from other weights, a few times, each in a folder of its own.
    """
    config = system.alignment
    for attempt, folder in enumerate(itertools.islice(part.attempts(), config.restarts + 1)):
        if has_collapsed(folder):
            continue
        training = dataclasses.replace(config.training, seed=config.training.seed + attempt)
        own = dataclasses.replace(config, training=training)
        torch.manual_seed(training.seed)
        text = Text.of(corpus, training, part.base.parent / ROWS, process)
        task = AlignmentTask(system, system.new_alignment_layers(own), text, own, process.device)
        settings = {**below, **binding_settings(alignment=own)}
        try:
            return train_stage("alignment layers", task, folder, settings, process)
        except Collapsed as problem:
            process.wait()
            if process.first:
                record_collapse(folder, str(problem))
                say(f"the alignment layers have collapsed: {problem}; starting again from other weights")
            process.wait()
    raise WeftError(
        f"{part.base}: the alignment layers collapsed in each of {config.restarts + 1} attempts, see collapsed.txt "
        "there; train the translation models for longer, or try another alignment.logit_dropout or alignment.agreement"
    )
