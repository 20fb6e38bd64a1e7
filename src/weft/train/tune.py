"""Tune a small aligner to other text: without gold, without a teacher, in minutes on a CPU.

Where text differs from what an aligner has learned from, it is less sure, and some of its links are wrong. But a word
is met in many sentences, and mostly its links are right: learning from its own links, an aligner can make right
everywhere what was right most of the time. Guided layers become better than the links that they learn from in this way.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from weft.align.folder import GRAPH, read_aligner
from weft.config import TuneConfig
from weft.errors import BadLine, WeftError
from weft.model.extraction import mean_links
from weft.model.losses import guided_loss, is_word
from weft.model.scorer import Scorer
from weft.text.batches import PackedRows, pack
from weft.text.corpus import Corpus
from weft.text.prepared import Side, checksum_of
from weft.text.sentence import sentence_pair
from weft.text.subwords import Subwords
from weft.train.checkpoint import binding_settings
from weft.train.distributed import Process
from weft.train.export import read_scorer, save_aligner
from weft.train.resident import ResidentRows, precision
from weft.train.stage import train_stage

_SAMPLE_ROWS = 64  # to measure the sizes of numbers on


class TuneTask:
    """Put attention where the aligner that we begin with has its links, in both directions."""

    figures = ("forward_loss", "backward_loss")

    def __init__(
        self, scorer: Scorer, threshold: float, rows: PackedRows, config: TuneConfig, device: torch.device
    ) -> None:
        self._before = copy.deepcopy(scorer).to(device).eval().requires_grad_(False)
        self.module = scorer.to(device).train()
        self._threshold = threshold
        self._rows = ResidentRows(rows, device)
        self._precision = precision(config.training, device)

    def begin(self, fraction: float) -> None:
        """Nothing changes while training goes on."""

    def sums(self, rows: Tensor) -> Tensor:
        pair = self._rows.pair(rows)
        links = mean_links(*self._before.attention(pair), self._threshold, pair.target, pair.source)
        cells = pair.cells()
        forward = backward = torch.zeros((), device=links.device)
        for scorer in (self.module, *([self.module.fast] if self.module.fast is not None else [])):
            with self._precision:
                scores = scorer(pair)
            forward = forward + guided_loss(scores, cells, links, pair.target, pair.source)
            backward = backward + guided_loss(scores.mT, cells.mT, links.mT, pair.source, pair.target)
        targets, sources = (is_word(side.ids).sum() for side in (pair.target, pair.source))
        total = targets + sources
        figures = [forward / targets * total, backward / sources * total]
        return torch.stack([forward + backward, total.float(), *figures])

    def watch(self, report: dict[str, float], fraction: float) -> None:
        """Losses say it all."""


def tune(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process) -> Path:
    """An aligner that has begun as ``model`` and learned from a corpus; its folder, ``run/aligner``."""
    described, subwords = read_aligner(model)
    torch.manual_seed(config.training.seed)
    scorer = read_scorer(model / GRAPH, described, config.dropout)
    packed = _packed(corpus, subwords, config)
    train_stage(
        "tuning",
        scorer,
        lambda: packed,
        lambda rows: TuneTask(scorer, described.threshold, rows, config, process.device),
        config.training,
        run / "tune",
        {"model": checksum_of(model / GRAPH)[:16], **binding_settings(tune=config)},
        process,
    )
    sample = torch.arange(min(_SAMPLE_ROWS, len(packed)), device=process.device)
    folder = run / "aligner"
    text = ResidentRows(packed, process.device).pair(sample)
    save_aligner(folder, scorer, [text], subwords, described.threshold)
    card = (model / "README.md").read_text(encoding="utf-8") if (model / "README.md").exists() else ""
    note = (
        f"Tuned to {len(packed.pairs):,} sentence pairs of other text; what follows is said of the aligner it began as."
    )
    (folder / "README.md").write_text(f"# Tuned aligner\n\n{note}\n\n{card}", encoding="utf-8")
    return folder


def _packed(corpus: Corpus, subwords: Subwords, config: TuneConfig) -> PackedRows:
    """The first pairs of a corpus, in rows."""
    sides: list[list[list[int]]] = [[], []]
    for pair in itertools.islice(_pairs(corpus), config.pairs):
        sentences = sentence_pair(*pair, subwords.text, subwords.text.tokenisation)
        encoded = [subwords.encode(sentence.words).ids for sentence in sentences]
        if all(encoded):
            for side, ids in zip(sides, encoded, strict=True):
                side.append(ids)
    if not sides[0]:
        raise WeftError(f"{(corpus.files or corpus.source)[0]}: no sentence pair in it that has words on both sides")
    source, target = (_side(side) for side in sides)
    return pack(source, target, config.training.row_length, config.training.seed)


def _pairs(corpus: Corpus) -> Iterator[tuple[str, str]]:
    def refuse(bad: BadLine) -> None:
        raise WeftError(f"{bad.file}:{bad.line}: {bad.problem}; mend the line or leave it out")

    for block in corpus.blocks():
        yield from block.pairs(skip_bad=True, on_bad=refuse)


def _side(sentences: Sequence[Sequence[int]]) -> Side:
    offsets = np.cumsum([0, *(len(ids) for ids in sentences)])
    return Side(np.array(list(itertools.chain.from_iterable(sentences)), np.int64), offsets)
