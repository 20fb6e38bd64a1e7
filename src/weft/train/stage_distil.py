"""The stages that teach a small scorer what the guided layers know.

The scorer learns from soft targets: for every word, the whole distribution of its teachers' attention, computed for
each batch, so that nothing is stored and doubt is handed on as doubt. The targets can be corrected by a lexicon
(``weft.train.attention_lexicon``) of the teachers' attention. In a second round, ``refine``, the scorer can learn its
own attention as corrected by a lexicon of its own. A fast scorer learns from the scorer in the same way, without
correction.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.config import RefineConfig, ScorerConfig, TrainingConfig
from weft.config_io import to_dict
from weft.model.rows import Attend, Attention, PairRows, is_word
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem, mean_guided_attention
from weft.train.attention_lexicon import corrected_by_lexicon
from weft.train.distributed import Process
from weft.train.loop import train_stage
from weft.train.stages import binding_settings
from weft.train.task import Sums, Task, Text, compile_parts

_LEAST_ATTENTION = 1e-9  # whose logarithm is taken


class DistilTask(Task):
    """Give each word the attention that a teacher gives it, in both directions."""

    figures = ("forward_loss", "backward_loss", "doubt")

    def __init__(
        self,
        scorer: Scorer,
        teach: Attend,
        text: Text,
        training: TrainingConfig,
        process: Process,
        lexicon: int = 0,
        frozen: Sequence[nn.Module] = (),
    ) -> None:
        """``lexicon`` is the number of pairs to make a lexicon of, which corrects the teacher (0: none).

        ``frozen`` are parts of the teacher to compile together with those of the scorer.
        """
        super().__init__(scorer, text, training, process.device)
        self._words = scorer.tables[0].num_embeddings
        self._teach, self._lexicon, self._process = teach, lexicon, process
        self._parts = [*scorer.parts, *frozen]

    def prepare(self) -> None:
        super().prepare()
        if self._lexicon:
            self._teach = corrected_by_lexicon(self._teach, self.text.rows, self._lexicon, self._words, self._process)
        compile_parts(self._parts, self.training, self.device)

    def taught(self, batch: Sequence[Tensor], pair: PairRows, scores: Tensor) -> Attention:
        """Return what to learn about a batch, given the scores that the scorer finds itself."""
        return self._teach(pair)

    def sums(self, batch: Sequence[Tensor]) -> Sums:
        pair = PairRows.of(*batch[:2])
        with self.precision:
            scores = self.module(pair)
        taught = self.taught(batch, pair, scores.detach())
        cells = pair.cells()
        losses, doubts = [], []
        for wanted, side, dim in ((taught.forward, pair.target, 2), (taught.backward, pair.source, 1)):
            words = is_word(side.ids)
            log_attention = torch.where(cells, scores, -torch.inf).log_softmax(dim)
            losses.append(_cross_entropy(wanted, log_attention, words, dim))
            doubts.append(_cross_entropy(wanted, wanted.clamp(min=_LEAST_ATTENTION).log(), words, dim))
        counts = [is_word(side.ids).sum() for side in (pair.target, pair.source)]
        total = counts[0] + counts[1]
        figures = (losses[0] / counts[0], losses[1] / counts[1], (doubts[0] + doubts[1]) / total)
        return Sums(losses[0] + losses[1], total, figures)


def _cross_entropy(wanted: Tensor, log_attention: Tensor, words: Tensor, dim: int) -> Tensor:
    """−Σ wanted·log attention over the distributions of words, which lie along ``dim``."""
    return -(torch.where(wanted > 0, wanted * log_attention, 0).sum(dim) * words).sum()


def train_scorer(
    teachers: Sequence[AlignmentSystem],
    config: ScorerConfig,
    text: Text,
    folder: Path,
    below: dict[str, str],
    process: Process,
) -> Scorer:
    """Train a scorer, begun from the translation models of its first teacher. Returns it.

    ``below`` identifies the text and all teachers.
    """
    torch.manual_seed(config.training.seed)
    model = teachers[0].models["forward"].translation
    scorer = Scorer(config.shape(model.config), len(model.table), config.dropout, config.shared)
    source, target = scorer.encoders
    target.start_from(teachers[0].models["backward"].translation)
    source.start_from(model)  # the last, so that a shared encoder begins as that of the forward model
    copies = [replace(teacher.inference(), models=copy.deepcopy(teacher.models)) for teacher in teachers]
    frozen = [part for system in copies for model in system.models.values() for part in model.translation.parts]
    attend = partial(mean_guided_attention, copies)
    task = DistilTask(scorer, attend, text, config.training, process, config.lexicon, frozen)
    own = {name: value for name, value in to_dict(config).items() if name not in {"fast", "refine"}}
    train_stage("scorer", task, folder, {**below, **binding_settings(scorer=own)}, process)
    return copy.deepcopy(scorer)  # which is not compiled


def refine(
    name: str,
    scorer: Scorer,
    config: RefineConfig,
    text: Text,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> Scorer:
    """Let a scorer learn its own attention as corrected by a lexicon of it. Returns it."""
    before = copy.deepcopy(scorer).to(process.device).eval()
    scorer.requires_grad_(True)
    task = DistilTask(scorer, before.attention, text, config.training, process, config.lexicon, before.parts)
    train_stage(name, task, folder, settings, process)
    return copy.deepcopy(scorer)


def train_fast(
    name: str,
    scorer: Scorer,
    fast: Scorer,
    training: TrainingConfig,
    text: Text,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> Scorer:
    """Let a fast scorer, which reads the embeddings of a trained scorer, learn from that one. Returns it."""
    teacher = copy.deepcopy(scorer.to(process.device).eval().requires_grad_(False))
    task = DistilTask(fast, teacher.attention, text, training, process, frozen=teacher.parts)
    train_stage(name, task, folder, settings, process)
    return copy.deepcopy(fast)
