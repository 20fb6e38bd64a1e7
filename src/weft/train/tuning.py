"""Tune a small aligner to other text, or to a language that it has never seen: without gold, in minutes on a CPU.

What words of the text do in general says how probable links between them are (``word_statistics``). The aligner learns
these probabilities: so it comes to know the words, and, as it goes by pieces of words and by context, others that are
like them. How the attention to a word is spread over its pieces is left to the aligner. If it knows the language
already, half of its attention stays as it is, and steps are half as long.

Pairs whose links a person has corrected come first. They teach these links, to the statistics and to the aligner, and
an epoch has them several times.
"""

from __future__ import annotations

import copy
import dataclasses
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.align.model_folder import card, read_aligner
from weft.config import TrainingConfig, TuneConfig
from weft.corpus.prepared import Side
from weft.model.rows import Attend, Attention, PairRows, Rows, masked_softmax
from weft.model.scorer import Scorer, stored_scorers
from weft.progress import say
from weft.storage import write_text
from weft.text.reading import Corpus
from weft.text.subwords import END
from weft.train.checkpoint import open_tensors, write_file
from weft.train.corrected_pairs import CorrectedPair
from weft.train.distributed import Process, alone_in, end_at_once
from weft.train.estimate import shown_time, tuning_minutes
from weft.train.export import save_aligner
from weft.train.loop import train_stage
from weft.train.stage_distil import DistilTask, train_fast
from weft.train.stages import ALIGNER, binding_settings, finish, is_finished
from weft.train.tuning_text import Chosen, TuningText
from weft.train.word_statistics import Posteriors, word_posteriors

_FEW_PAIRS = 2_000  # fewer say little
_KEPT, _KNOWN_STEPS = 0.5, 0.5  # in a language that the aligner knows: attention that stays, share of steps
_WORDS = "words"
_STATISTICS = 2  # counts up when probabilities of links are found in another way, so that old ones are not taken up
_LEAST_SUM = 1e-9  # of attention, to divide by


def tune(
    model: Path,
    corpus: Corpus | None,
    run: Path,
    config: TuneConfig,
    process: Process,
    force: bool = False,
    corrected: Iterable[CorrectedPair] = (),
) -> Path:
    """Let the aligner ``model`` learn from a corpus, from corrected pairs, or both.

    Returns the folder of the new aligner, ``run/aligner``. Goes on where it stopped, with the same text, model and
    settings; ``force`` starts again. Raises WeftError if the text is too small to learn from.
    """
    with end_at_once(process):
        chosen = Chosen.of(corpus, corrected, config, process.first)  # bad text leaves no folder
        with alone_in(run, "tuning", process):
            return _tuned(model, chosen, run, config, process, force)


def _tuned(model: Path, chosen: Chosen, run: Path, config: TuneConfig, process: Process, force: bool) -> Path:
    content = read_aligner(model)
    subwords, made_of = chosen.extended(content.subwords, config.merges)
    text = TuningText.of(chosen, subwords, config.training)
    config = dataclasses.replace(config, training=text.limited(config.training))
    if force and process.first:
        for name in (_WORDS, "tune", "fast", ALIGNER):
            shutil.rmtree(run / name, ignore_errors=True)
    process.wait()
    torch.manual_seed(config.training.seed)
    scorer, fast = stored_scorers(content, config.dropout)
    _extend_tables(scorer, made_of)
    settings = {
        "model": content.checksum()[:16],
        "text": text.checksum(),
        **binding_settings(tune=config),
    }
    if process.first:
        if len(text) < _FEW_PAIRS and not text.taught:
            say(f"{len(text):,} sentence pairs are few: some thousands teach more")
        needed = shown_time(tuning_minutes(content.config, config, text.sides, process.device))
        say(
            f"tuning to {_described(text)} with {len(made_of):,} new pieces of words: "
            f"{config.training.updates:,} updates{', and as many of the fast encoders' if fast is not None else ''}; "
            f"about {needed} on {process.device}"
        )
    before = copy.deepcopy(scorer).to(process.device).eval().attention
    found = _counted(text, before, run / _WORDS, settings, process)
    training = config.training
    if found.known:
        training = dataclasses.replace(training, learning_rate=training.learning_rate * _KNOWN_STEPS)
    task = TuneTask(scorer, before, found, text, training, process)
    train_stage("tuning", task, run / "tune", settings, process)
    if fast is not None:  # it reads the embeddings that have just been tuned
        fast = train_fast("tuning fast", scorer, fast, training, task.text, run / "fast", settings, process)
    folder = run / ALIGNER
    if process.first:
        save_aligner(folder, scorer, fast, [task.text.sample(process.device)], subwords, content.config.threshold)
        write_text(folder / "README.md", _card(model, text))
    process.wait()
    return folder


def _described(text: TuningText) -> str:
    of_them = f" ({len(text.taught):,} with corrected links)" if text.taught else ""
    return f"{len(text):,} sentence pairs{of_them}"


def _counted(text: TuningText, attend: Attend, folder: Path, settings: dict[str, Any], process: Process) -> Posteriors:
    """Find the probabilities of links, or read them if that was done."""
    path = folder / "posteriors.safetensors"
    settings = settings | {"statistics": _STATISTICS}
    if not is_finished(folder, settings) and process.first:
        began = time.perf_counter()
        given = [(pair.forward, pair.backward) for pair in text.taught]
        write_file(path, word_posteriors(text.sides, text.words, attend, process, given)._asdict())
        finish(folder, settings, time.perf_counter() - began)
    process.wait()
    with open_tensors(path, process.device) as file:
        found = Posteriors(*map(file.get_tensor, Posteriors._fields))
    if process.first and len(text) > len(text.taught):
        what = (
            f"the aligner knows this language: it keeps {_KEPT:.0%} of its attention and learns the words of the text"
            if found.known
            else "the aligner does not know this language well: it learns links that were found by counting words"
        )
        say(f"both directions agree on {found.agreement.item():.0%} of their attention, so {what}")
    return found


class TuneTask(DistilTask):
    """Give each word the attention that the statistics of the text's words give it."""

    def __init__(
        self,
        scorer: Scorer,
        before: Attend,
        posteriors: Posteriors,
        text: TuningText,
        training: TrainingConfig,
        process: Process,
    ) -> None:
        """``before`` is what the scorer attended to before."""
        super().__init__(scorer, before, text.packed(training), training, process)
        self._posteriors, self._tuning_text = posteriors, text

    def prepare(self) -> None:
        super().prepare()
        # The posterior of a cell is at the sum of a number of its target piece and a number of its source piece.
        text, offsets = self._tuning_text, self._posteriors.offsets.cpu().numpy()
        source, target = text.words
        begins, widths = (np.repeat(one, text.sides[1].lengths) for one in (offsets[:-1], source.sentences.lengths))
        numbers = (
            Side(source.places, text.sides[0].offsets),
            Side(begins + target.places * widths, text.sides[1].offsets),
        )
        self._numbers = dataclasses.replace(self.text.rows, sides=numbers)
        self._taught_cells = int(offsets[len(text.taught)])  # which come first

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
        corrected = words & (target < self._taught_cells)[:, :, None]  # where nothing stays as it is
        return Attention(
            *(
                torch.lerp(own, before, _KEPT * ~corrected.any(dim, keepdim=True))
                for own, before, dim in zip(found, self._teach(pair), (2, 1), strict=True)
            )
        )


def _within_words(attention: Tensor, side: Rows, numbers: Tensor) -> Tensor:
    """Return which share of the attention to its word each piece gets; words have ``numbers``. (batch, other, side)"""
    same = (numbers[:, :, None] == numbers[:, None]) & (side.segments[:, :, None] == side.segments[:, None])
    return attention / (attention @ same.float()).clamp(min=_LEAST_SUM)


def _with_rest(attention: Tensor, ends: Tensor, dim: int) -> Tensor:
    """Give what is missing to a sum of one to the end of the sentence, the null word."""
    return torch.where(ends, (1 - attention.sum(dim, keepdim=True)).clamp(min=0), attention)


def _card(model: Path, text: TuningText) -> str:
    before = card(model) if (model / "README.md").exists() else ""
    return f"# Tuned aligner\n\nTuned to {_described(text)}. The card of the original aligner follows.\n\n{before}"


def _extend_tables(scorer: Scorer, made_of: list[tuple[int, ...]]) -> None:
    """Give new pieces the mean embeddings of the pieces that they are made of."""
    for table in set(scorer.tables):
        means = [table.weight.detach()[list(pieces)].mean(0) for pieces in made_of]
        table.weight = nn.Parameter(torch.stack([*table.weight.detach(), *means]))
        table.num_embeddings = len(table.weight)
