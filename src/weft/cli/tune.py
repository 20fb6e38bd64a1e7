"""``weft tune``: a small aligner that has learned from the user's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.config import TuneConfig
from weft.progress import say


def tune(
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = "",
    /,
    *,
    model: str,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="RUN")],
    config: Annotated[TuneConfig, tyro.conf.OmitArgPrefixes] = TuneConfig(),  # noqa: B008
) -> None:
    """Tune a small aligner to your own text, in minutes on a CPU; the new one will be in RUN/aligner.

    Args:
        file: TSV, `source ||| target`, .jsonl, .parquet, or the source side; words as the model has them.
        target: The target side, if the file has only the source side.
        model: A name that `weft models` lists, or the folder of a small aligner.
        output: Folder for checkpoints and the new aligner.
        config: How to train.
    """
    from weft.align.model_folder import find_model
    from weft.text.reading import Corpus
    from weft.train.distributed import join_processes
    from weft.train.tuning import tune

    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,))
    with join_processes() as process:
        say(f"aligner: {tune(find_model(model), corpus, output, config, process)}")
