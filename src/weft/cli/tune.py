"""``weft tune``: a small aligner that has learned from the user's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.config import CorpusConfig, TuneConfig
from weft.config_io import split_settings, with_settings
from weft.errors import WeftError
from weft.progress import say


def tune(
    what: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE [TARGET] [SETTING=VALUE …]")],
    /,
    *,
    model: str,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="RUN")],
    force: bool = False,
) -> None:
    """Tune a small aligner to your own text or to a new language, in minutes on a CPU; it will be in RUN/aligner.

    Args:
        what: TSV, `source ||| target`, .jsonl, .parquet, a memory (.tmx, .xlf, .po, an OPUS .zip), or two files, source
            and target, raw or split into words; then settings such as training.updates=300, training.minutes=10,
            pairs=20000, merges=2000, languages='["de", "en"]' of a memory that has others, too.
        model: A name that `weft models` lists, or the folder of a small aligner.
        output: Folder for checkpoints and the new aligner.
        force: Forget checkpoints and start again.
    """
    from weft.align.model_folder import find_model
    from weft.text.reading import Corpus
    from weft.train.distributed import join_processes
    from weft.train.tuning import tune

    files, settings = split_settings(what)
    if not 1 <= len(files) <= 2:
        raise WeftError("give text as one file or as two, source and target")
    of_text = [one for one in settings if one.startswith("languages=")]
    config = with_settings(TuneConfig(), [one for one in settings if one not in of_text])
    corpus = Corpus.of(files, languages=with_settings(CorpusConfig(), of_text).languages)
    with join_processes() as process:
        folder = tune(find_model(model), corpus, output, config, process, force)
        if process.first:
            say(f"aligner: {folder}")
