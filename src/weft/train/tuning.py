"""Tune a small aligner to other text: without gold, without a teacher, in minutes on a CPU.

Where text differs from what an aligner has learned from, it is less sure, and some of its links are wrong. But words
meet in many sentences, and mostly their links are right. So the aligner reads the text, makes a lexicon of its own
attention (``weft.train.lexicon``), and learns that attention as the lexicon corrects it: what is right most of the time
becomes right everywhere.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from weft.align.model_folder import card, checksum, read_aligner
from weft.config import TuneConfig
from weft.corpus.packing import PackedRows, pack
from weft.corpus.prepared import Side
from weft.errors import WeftError, remedy_for_bad_lines
from weft.model.scorer import stored_scorers
from weft.text.reading import Corpus
from weft.text.subwords import Subwords
from weft.text.words import sentence_pair
from weft.train.checkpoint import binding_settings
from weft.train.distributed import Process
from weft.train.export import save_aligner
from weft.train.lexicon import corrected_by_lexicon
from weft.train.stage_distil import DistilTask
from weft.train.task import ResidentRows, train_stage

_SAMPLE_ROWS = 64  # to measure the sizes of numbers on


def tune(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process) -> Path:
    """An aligner that has begun as ``model`` and learned from a corpus; its folder, ``run/aligner``."""
    content = read_aligner(model)
    subwords = content.subwords
    torch.manual_seed(config.training.seed)
    scorer, fast = stored_scorers(content, config.dropout)
    packed = _packed(corpus, subwords, config)
    training, device = config.training, process.device
    settings = {"model": checksum(model)[:16], **binding_settings(tune=config)}
    before = copy.deepcopy(scorer).to(device).eval()

    def task(rows: PackedRows) -> DistilTask:
        teach = corrected_by_lexicon(before.attention, rows, config.lexicon, len(subwords), process)
        return DistilTask(scorer, teach, rows, training, device)

    train_stage("tuning", scorer, lambda: packed, task, training, run / "tune", settings, process)
    if fast is not None:  # it reads the embeddings that have just been tuned
        scorer.requires_grad_(False)

        def fast_task(rows: PackedRows) -> DistilTask:
            return DistilTask(fast, scorer.attention, rows, training, device)

        train_stage("tuning fast", fast, lambda: packed, fast_task, training, run / "fast", settings, process)
    sample = torch.arange(min(_SAMPLE_ROWS, len(packed)), device=process.device)
    folder = run / "aligner"
    text = ResidentRows(packed, process.device).pair(sample)
    save_aligner(folder, scorer, fast, [text], subwords, content.config.threshold)
    old_card = card(model) if (model / "README.md").exists() else ""
    note = (
        f"Tuned to {len(packed.pairs):,} sentence pairs of other text; what follows is said of the aligner it began as."
    )
    (folder / "README.md").write_text(f"# Tuned aligner\n\n{note}\n\n{old_card}", encoding="utf-8")
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
    with remedy_for_bad_lines("fix the line or leave it out"):
        for block in corpus.blocks():
            yield from block.pairs()


def _side(sentences: Sequence[Sequence[int]]) -> Side:
    offsets = np.cumsum([0, *(len(ids) for ids in sentences)])
    return Side(np.array(list(itertools.chain.from_iterable(sentences)), np.int64), offsets)
