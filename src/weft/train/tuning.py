"""Tune a small aligner to other text, or to a language that it has never seen: without gold, in minutes on a CPU.

What words of the text do in general says how probable links between them are (``word_statistics``). The aligner learns
these probabilities: so it comes to know the words, and, as it goes by pieces of words and by context, others that are
like them. How the attention to a word is spread over its pieces is left to the aligner. If it knows the language
already, half of its attention stays as it is, and steps are half as long.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import random
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.align.model_folder import card, read_aligner
from weft.config import TrainingConfig, TuneConfig
from weft.corpus.packing import pack
from weft.corpus.prepared import Side
from weft.errors import WeftError, remedy_for_bad_lines
from weft.model.rows import Attend, Attention, PairRows, Rows, masked_softmax
from weft.model.scorer import Scorer, stored_scorers
from weft.progress import Progress, say
from weft.storage import write_text
from weft.text.reading import Corpus
from weft.text.subwords import END, Subwords
from weft.train.checkpoint import open_checkpoint, write_file
from weft.train.distributed import Process, end_at_once
from weft.train.estimate import shown_time, tuning_minutes
from weft.train.export import save_aligner
from weft.train.loop import train_stage
from weft.train.stage_distil import DistilTask, train_fast
from weft.train.stages import ALIGNER, binding_settings, finish, is_finished
from weft.train.task import Text, encoded_sides
from weft.train.word_statistics import Posteriors, WordSide, word_posteriors

_LEAST_PAIRS = 100  # fewer say nothing about words in general
_FEW_PAIRS = 2_000  # fewer say little
_MOST_PAIRS, _MOST_CELLS = 100_000, 60_000_000  # pairs, and pairs of pieces in them, that take up to 3 GB of memory
_MOST_EPOCHS = 30  # of a small text
_KEPT, _KNOWN_STEPS = 0.5, 0.5  # in a language that the aligner knows: attention that stays, share of steps
_WORDS = "words"
_LEAST_SUM = 1e-9  # of attention, to divide by


def tune(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process, force: bool = False) -> Path:
    """Let the aligner ``model`` learn from a corpus. Returns the folder of the new aligner, ``run/aligner``.

    Goes on where it stopped, with the same text, model and settings; ``force`` starts again. Raises WeftError if the
    text is too small to learn from.
    """
    with end_at_once(process):
        return _tuned(model, corpus, run, config, process, force)


def _tuned(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process, force: bool) -> Path:
    content = read_aligner(model)
    pairs = _chosen(corpus, config, process)
    subwords, made_of = _extended(pairs, content.subwords, config.merges)
    sides = _fitting(encoded_sides(pairs, subwords), config.training)
    if len(sides[0]) < _LEAST_PAIRS:
        raise WeftError(
            f"{(corpus.files or corpus.source)[0]}: has too few sentence pairs with different words on both sides: "
            f"{len(sides[0]):,}; give {_LEAST_PAIRS:,} at least, and some thousands to make a difference"
        )
    config = dataclasses.replace(config, training=_training(config.training, len(sides[1].ids)))
    if force and process.first:
        for name in (_WORDS, "tune", "fast", ALIGNER):
            shutil.rmtree(run / name, ignore_errors=True)
    process.wait()
    torch.manual_seed(config.training.seed)
    scorer, fast = stored_scorers(content, config.dropout)
    _extend_tables(scorer, made_of)
    settings = {
        "model": content.checksum()[:16],
        "text": _checksum(sides),
        **binding_settings(tune=config),
    }
    if process.first:
        if len(sides[0]) < _FEW_PAIRS:
            say(f"{len(sides[0]):,} sentence pairs are few: λ tells little, and some thousands teach more")
        needed = shown_time(tuning_minutes(content.config, config, sides, process.device))
        say(
            f"tuning to {len(sides[0]):,} sentence pairs with {len(made_of):,} new pieces of words: "
            f"{config.training.updates:,} updates{', and as many of the fast encoders' if fast is not None else ''}; "
            f"about {needed} on {process.device}"
        )
    words = WordSide.of(sides[0], subwords), WordSide.of(sides[1], subwords)
    before = copy.deepcopy(scorer).to(process.device).eval().attention
    found = _counted(sides, words, before, run / _WORDS, settings, process)
    training, text = config.training, _packed(sides, config.training)
    if found.known:
        training = dataclasses.replace(training, learning_rate=training.learning_rate * _KNOWN_STEPS)
    task = TuneTask(scorer, before, found, text, sides, words, training, process)
    train_stage("tuning", task, run / "tune", settings, process)
    if fast is not None:  # it reads the embeddings that have just been tuned
        fast = train_fast("tuning fast", scorer, fast, training, text, run / "fast", settings, process)
    folder = run / ALIGNER
    if process.first:
        save_aligner(folder, scorer, fast, [text.sample(process.device)], subwords, content.config.threshold)
        write_text(folder / "README.md", _card(model, len(sides[0])))
    process.wait()
    return folder


def _counted(
    sides: tuple[Side, Side],
    words: tuple[WordSide, WordSide],
    attend: Attend,
    folder: Path,
    settings: dict[str, Any],
    process: Process,
) -> Posteriors:
    """Find the probabilities of links, or read them if that was done."""
    path = folder / "posteriors.safetensors"
    if not is_finished(folder, settings) and process.first:
        began = time.perf_counter()
        write_file(path, word_posteriors(sides, words, attend, process)._asdict())
        finish(folder, settings, time.perf_counter() - began)
    process.wait()
    with open_checkpoint(path, process.device) as file:
        found = Posteriors(*map(file.get_tensor, Posteriors._fields))
    if process.first:
        what = (
            f"the aligner knows this language: it keeps {_KEPT:.0%} of its attention and learns the words of the text"
            if found.known
            else "the aligner does not know this language well: it learns links that were found by counting words"
        )
        say(f"λ = {found.trust.item():.4f}: {what}")
    return found


class TuneTask(DistilTask):
    """Give each word the attention that the statistics of the text's words give it."""

    def __init__(
        self,
        scorer: Scorer,
        before: Attend,
        posteriors: Posteriors,
        text: Text,
        sides: tuple[Side, Side],
        words: tuple[WordSide, WordSide],
        training: TrainingConfig,
        process: Process,
    ) -> None:
        """``before`` is what the scorer attended to before."""
        super().__init__(scorer, before, text, training, process)
        self._posteriors, self._sides, self._words_of_sides = posteriors, sides, words

    def prepare(self) -> None:
        super().prepare()
        # The posterior of a cell is at the sum of a number of its target piece and a number of its source piece.
        (source, target), pieces = self._words_of_sides, self._sides[1].lengths
        offsets = self._posteriors.offsets[:-1].cpu().numpy()
        begins, widths = (np.repeat(one, pieces) for one in (offsets, source.sentences.lengths))
        numbers = (
            Side(source.places, self._sides[0].offsets),
            Side(begins + target.places * widths, self._sides[1].offsets),
        )
        self._numbers = dataclasses.replace(self.text.rows, sides=numbers)

    def batch(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        return *super().batch(rows), *self._numbers.take(rows)

    def taught(self, batch: Sequence[Tensor], pair: PairRows, scores: Tensor) -> Attention:
        source, target = batch[2:]  # (batch, source), (batch, target)
        cells, words = pair.cells(), pair.word_cells()
        places = torch.where(words, target[:, :, None] + source[:, None], 0)
        forward, backward = (torch.where(words, one[places].float(), 0) for one in self._posteriors[:2])
        forward = forward * _within_words(masked_softmax(scores, cells, 2), pair.source, source)
        backward = (backward.mT * _within_words(masked_softmax(scores, cells, 1).mT, pair.target, target)).mT
        ends = cells & (pair.source.ids == END)[:, None], cells & (pair.target.ids == END)[:, :, None]
        found = Attention(_with_rest(forward, ends[0], 2), _with_rest(backward, ends[1], 1))
        if not self._posteriors.known:
            return found
        return Attention(*map(partial(torch.lerp, weight=_KEPT), found, self._teach(pair)))


def _within_words(attention: Tensor, side: Rows, numbers: Tensor) -> Tensor:
    """Return which share of the attention to its word each piece gets; words have ``numbers``. (batch, other, side)"""
    same = (numbers[:, :, None] == numbers[:, None]) & (side.segments[:, :, None] == side.segments[:, None])
    return attention / (attention @ same.float()).clamp(min=_LEAST_SUM)


def _with_rest(attention: Tensor, ends: Tensor, dim: int) -> Tensor:
    """Give what is missing to a sum of one to the end of the sentence, the null word."""
    return torch.where(ends, (1 - attention.sum(dim, keepdim=True)).clamp(min=0), attention)


def _packed(sides: tuple[Side, Side], training: TrainingConfig) -> Text:
    return Text(partial(pack, *sides, training.row_length, training.seed))


def _card(model: Path, pairs: int) -> str:
    before = card(model) if (model / "README.md").exists() else ""
    return (
        f"# Tuned aligner\n\nTuned to {pairs:,} sentence pairs. The card of the original aligner follows.\n\n{before}"
    )


def _chosen(corpus: Corpus, config: TuneConfig, process: Process) -> list[tuple[str, str]]:
    """Read the pairs of a corpus that can teach something: all, or as many as are wanted, chosen at random."""
    generator = random.Random(config.training.seed)
    most = min(config.pairs or _MOST_PAIRS, _MOST_PAIRS)
    chosen: list[tuple[str, str]] = []
    seen = 0
    with remedy_for_bad_lines("fix the line or leave it out"), Progress(process.first) as progress:
        progress.phase("reading", corpus.size(), "B")
        for block in corpus.blocks():
            for source, target in block.pairs():
                if source == target or not source.strip() or not target.strip():
                    continue
                seen += 1
                if len(chosen) < most:
                    chosen.append((source, target))
                elif (place := generator.randrange(seen)) < most:
                    chosen[place] = source, target
            progress.advance(block.bytes_read)
    return chosen


def _training(training: TrainingConfig, pieces: int) -> TrainingConfig:
    """Return how to learn from so many target pieces: a small text is not gone through for ever."""
    enough = -(-_MOST_EPOCHS * pieces // training.target_tokens)
    return dataclasses.replace(training, updates=min(training.updates, enough))


def _extended(pairs: list[tuple[str, str]], subwords: Subwords, merges: int) -> tuple[Subwords, list[tuple[int, ...]]]:
    """Learn pieces of the text's frequent words, of which a model that does not know them has small pieces only."""
    words: Counter[tuple[int, ...]] = Counter()
    for side in encoded_sides(pairs, subwords):
        found = WordSide.of(side, subwords)
        words.update(dict(zip(found.pieces, np.bincount(found.sentences.ids).tolist(), strict=True)))
    return subwords.extended(words, merges)


def _fitting(sides: tuple[Side, Side], training: TrainingConfig) -> tuple[Side, Side]:
    """Leave out the pairs that do not fit into a row, and as many others as do not fit into memory."""
    lengths = np.stack([side.lengths for side in sides])  # (2, pairs)
    fits = lengths.max(axis=0, initial=0) < training.row_length
    share = _MOST_CELLS / max(1, int((lengths.prod(axis=0) * fits).sum()))
    fits &= np.random.default_rng(training.seed).random(len(fits)) < share
    source, target = (
        Side(side.ids[np.repeat(fits, side.lengths)], np.append(0, side.lengths[fits].cumsum())) for side in sides
    )
    return source, target


def _extend_tables(scorer: Scorer, made_of: list[tuple[int, ...]]) -> None:
    """Give new pieces the mean embeddings of the pieces that they are made of."""
    for table in set(scorer.tables):
        means = [table.weight.detach()[list(pieces)].mean(0) for pieces in made_of]
        table.weight = nn.Parameter(torch.stack([*table.weight.detach(), *means]))
        table.num_embeddings = len(table.weight)


def _checksum(sides: tuple[Side, Side]) -> str:
    """Return a short checksum of a text."""
    found = hashlib.sha256()
    for side in sides:
        found.update(side.ids.tobytes())
        found.update(side.offsets.tobytes())
    return found.hexdigest()[:16]
