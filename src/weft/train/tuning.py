"""Tune a small aligner to other text: without gold, without a teacher, in minutes on a CPU.

If text differs from what an aligner has learned from, the aligner is less sure, and some of its links are wrong. But
words meet in many sentences, and mostly their links are right. So the aligner learns its own attention on that text, as
corrected by a lexicon of it (``stage_distil.refine``): what is right most of the time becomes right everywhere.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch

from weft.align.model_folder import card, read_aligner
from weft.config import TuneConfig
from weft.corpus.packing import pack
from weft.corpus.prepared import Side
from weft.errors import WeftError, remedy_for_bad_lines
from weft.model.scorer import stored_scorers
from weft.progress import say
from weft.storage import write_text
from weft.text.reading import Corpus
from weft.text.subwords import Subwords
from weft.text.words import sentence_pair
from weft.train.distributed import Process, end_at_once
from weft.train.estimate import shown_time, tuning_minutes
from weft.train.export import save_aligner
from weft.train.stage_distil import refine, train_fast
from weft.train.stages import ALIGNER, binding_settings
from weft.train.task import Text, encoded_sides

_LEAST_PAIRS = 100  # fewer say nothing about words in general


def tune(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process, force: bool = False) -> Path:
    """Let the aligner ``model`` learn from a corpus. Returns the folder of the new aligner, ``run/aligner``.

    Goes on where it stopped, with the same text, model and settings; ``force`` starts again. Raises WeftError if the
    text is too small to learn from.
    """
    with end_at_once(process):
        return _tuned(model, corpus, run, config, process, force)


def _tuned(model: Path, corpus: Corpus, run: Path, config: TuneConfig, process: Process, force: bool) -> Path:
    content = read_aligner(model)
    subwords = content.subwords
    sides = _encoded(corpus, subwords, config.pairs)
    text = Text(partial(pack, *sides, config.training.row_length, config.training.seed))
    if force and process.first:
        for name in ("tune", "fast", ALIGNER):
            shutil.rmtree(run / name, ignore_errors=True)
    process.wait()
    torch.manual_seed(config.training.seed)
    scorer, fast = stored_scorers(content, config.dropout)
    settings = {
        "model": content.checksum()[:16],
        "text": _checksum(sides),
        **binding_settings(tune=config),
    }
    if process.first:
        needed = shown_time(tuning_minutes(content.config, config, process.device))
        say(
            f"tuning to {len(sides[0]):,} sentence pairs: {config.training.updates:,} updates"
            f"{', and as many of the fast encoders' if fast is not None else ''}; about {needed} on {process.device}"
        )
    refine("tuning", scorer, config, text, run / "tune", settings, process)
    if fast is not None:  # it reads the embeddings that have just been tuned
        train_fast("tuning fast", scorer, fast, config.training, text, run / "fast", settings, process)
    folder = run / ALIGNER
    if process.first:
        save_aligner(folder, scorer, fast, [text.sample(process.device)], subwords, content.config.threshold)
        write_text(folder / "README.md", _card(model, len(sides[0])))
    process.wait()
    return folder


def _card(model: Path, pairs: int) -> str:
    before = card(model) if (model / "README.md").exists() else ""
    return (
        f"# Tuned aligner\n\nTuned to {pairs:,} sentence pairs. The card of the original aligner follows.\n\n{before}"
    )


def _encoded(corpus: Corpus, subwords: Subwords, most: int) -> tuple[Side, Side]:
    """Cut the first pairs of a corpus into pieces."""
    with remedy_for_bad_lines("fix the line or leave it out"):
        sides = encoded_sides(itertools.islice(_words(corpus, subwords), most or None), subwords)
    if len(sides[0]) < _LEAST_PAIRS:
        raise WeftError(
            f"{(corpus.files or corpus.source)[0]}: {len(sides[0]):,} sentence pairs with words on both sides are too "
            f"few to learn from; it takes {_LEAST_PAIRS:,}, and some thousands to make a difference"
        )
    return sides


def _words(corpus: Corpus, subwords: Subwords) -> Iterator[tuple[list[str], list[str]]]:
    for block in corpus.blocks():
        for pair in block.pairs():
            source, target = sentence_pair(*pair, subwords.text, subwords.text.tokenisation)
            yield source.words, target.words


def _checksum(sides: tuple[Side, Side]) -> str:
    """Return a short checksum of a text."""
    found = hashlib.sha256()
    for side in sides:
        found.update(side.ids.tobytes())
        found.update(side.offsets.tobytes())
    return found.hexdigest()[:16]
