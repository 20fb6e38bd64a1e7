"""The stage that teaches a small scorer what the guided layers know.

The scorer learns from soft targets: for every word, the whole distribution of the teacher's attention, made on the fly
for each batch, so that nothing has to be stored and doubt is handed on as doubt. Before that the teacher reads some
text, and is corrected by what it says there about words in general (``weft.train.lexicon``). A fast scorer learns from
the scorer in the same way, without correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from weft.config import EncoderConfig, ScorerConfig, TrainingConfig
from weft.corpus.packing import PackedRows
from weft.errors import WeftError
from weft.model.rows import Attend, is_word
from weft.model.scorer import Scorer
from weft.model.system import AlignmentSystem, mean_guided_attention
from weft.train.checkpoint import binding_settings
from weft.train.distributed import Process
from weft.train.lexicon import corrected_by_lexicon
from weft.train.task import ResidentRows, precision, train_stage


class DistilTask:
    """Give each word the attention that a teacher gives it, in both directions."""

    figures = ("forward_loss", "backward_loss", "doubt")

    def __init__(
        self,
        scorer: Scorer,
        teach: Attend,
        rows: PackedRows,
        training: TrainingConfig,
        device: torch.device,
    ) -> None:
        self.module = scorer.to(device).train()
        self._teach = teach
        self._rows = ResidentRows(rows, device)
        self._precision = precision(training, device)

    def begin(self, fraction: float) -> None:
        """Nothing changes while training goes on."""

    def sums(self, rows: Tensor) -> Tensor:
        pair = self._rows.pair(rows)
        taught = self._teach(pair)
        with self._precision:
            scores = self.module(pair)
        cells = pair.cells()
        losses, doubts = [], []
        for wanted, side, dim in ((taught.forward, pair.target, 2), (taught.backward, pair.source, 1)):
            words = is_word(side.ids)
            log_attention = torch.where(cells, scores, -torch.inf).log_softmax(dim)
            losses.append(_cross_entropy(wanted, log_attention, words, dim))
            doubts.append(_cross_entropy(wanted, wanted.clamp(min=1e-9).log(), words, dim))
        counts = [is_word(side.ids).sum() for side in (pair.target, pair.source)]
        total = counts[0] + counts[1]
        figures = [losses[0] / counts[0] * total, losses[1] / counts[1] * total, doubts[0] + doubts[1]]
        return torch.stack([losses[0] + losses[1], total.float(), *figures])

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Losses say it all."""


def _cross_entropy(wanted: Tensor, log_attention: Tensor, words: Tensor, dim: int) -> Tensor:
    """−Σ wanted·log attention over the distributions of words, which lie along ``dim``."""
    return -(torch.where(wanted > 0, wanted * log_attention, 0).sum(dim) * words).sum()


def train_scorer(
    teachers: Sequence[AlignmentSystem],
    config: ScorerConfig,
    packed: PackedRows,
    folder: Path,
    origin: str,
    process: Process,
) -> Scorer:
    """A trained scorer, begun from the translation models of its first teacher; ``origin`` identifies all of them."""
    torch.manual_seed(config.training.seed)
    model = teachers[0].models["forward"].translation
    if config.layers > (most := model.config.encoder_layers):
        raise WeftError(f"scorer.layers is {config.layers}, but the translation models have {most} to start from")
    shape = EncoderConfig(config.layers, model.config.width, model.config.feed_forward, model.config.heads)
    scorer = Scorer(shape, len(model.table), model.config.dropout)
    scorer.source.start_from(model)
    scorer.target.start_from(teachers[0].models["backward"].translation)
    attend = partial(mean_guided_attention, [teacher.inference() for teacher in teachers])

    def task(rows: PackedRows) -> DistilTask:
        teach = attend
        if config.lexicon:
            teach = corrected_by_lexicon(attend, rows, config.lexicon, len(model.table), process)
        return DistilTask(scorer, teach, rows, config.training, process.device)

    train_stage(
        "scorer",
        scorer,
        lambda: packed,
        task,
        config.training,
        folder,
        {"origin": origin, **binding_settings(scorer=config)},
        process,
    )
    return scorer


def train_fast(
    scorer: Scorer,
    dropout: float,
    config: ScorerConfig,
    packed: PackedRows,
    folder: Path,
    origin: str,
    process: Process,
) -> Scorer:
    """Train a fast scorer on the attention of a trained one; ``origin`` identifies all that the scorer has."""
    scorer.to(process.device).eval().requires_grad_(False)
    torch.manual_seed(config.training.seed)
    fast = Scorer(config.fast, scorer, dropout)
    train_stage(
        "fast scorer",
        fast,
        lambda: packed,
        lambda rows: DistilTask(fast, scorer.attention, rows, config.training, process.device),
        config.training,
        folder,
        {"origin": origin, **binding_settings(scorer=config)},
        process,
    )
    return fast
