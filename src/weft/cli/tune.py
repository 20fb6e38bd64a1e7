"""``weft tune``: a small aligner that has learned from the user's own text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from weft.cli.options import choice
from weft.config import CorpusConfig, TuneConfig
from weft.config_io import split_settings, with_settings
from weft.errors import WeftError
from weft.progress import say


def tune(
    what: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[FILE [TARGET]] [SETTING=VALUE …]", help_behavior_hint=""),
    ] = (),
    /,
    *,
    model: str,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="RUN")],
    corrected: Annotated[str | None, choice("FILE", "links of no pair are known")] = None,
    gold: Annotated[str | None, choice("FILE", "those in the file of --corrected")] = None,
    gold_base: Literal[0, 1] = 1,
    force: bool = False,
) -> None:
    """Tune a small aligner to your own text or to a new language, in minutes on a CPU; it will be in RUN/aligner.

    Args:
        what: TSV, `source ||| target`, .jsonl, .parquet, a memory (.tmx, .xlf, .po, an OPUS .zip), or two files, source
            and target, raw or split into words; then settings such as training.updates=300, training.minutes=10,
            pairs=20000, merges=2000, languages='["de", "en"]' of a memory that has others, too.
        model: A name that `weft models` lists, or the folder of a small aligner.
        output: Folder for checkpoints and the new aligner.
        corrected: Pairs whose links a person has corrected, beside other text or without it: the .jsonl file that the
            page exports, of which checked pairs count, or a file of pairs with both sides, and --gold.
        gold: Links of the pairs of --corrected, of words between spaces: `3-4` sure, `3p4` possible, or NAACL 2003's.
        gold_base: The number of the first word of a sentence in --gold.
        force: Forget checkpoints and start again.
    """
    from weft.align.model_folder import find_model
    from weft.text.reading import Corpus, check_stdin
    from weft.train.corrected_pairs import read_corrected
    from weft.train.distributed import join_processes
    from weft.train.tuning import tune

    files, settings = split_settings(what)
    if len(files) > 2:
        raise WeftError("give text as one file or as two, source and target")
    if not files and corrected is None:
        raise WeftError("give text as one file or as two, source and target, or pairs with their links by --corrected")
    check_stdin([*files, corrected, gold])
    if gold is not None and corrected is None:
        raise WeftError("--gold has the links of --corrected: give the pairs, too")
    of_text = [one for one in settings if one.startswith("languages=")]
    config = with_settings(TuneConfig(), [one for one in settings if one not in of_text])
    languages = with_settings(CorpusConfig(), of_text).languages
    corpus = Corpus.of(files, languages=languages) if files else None
    pairs = () if corrected is None else read_corrected(corrected, gold, gold_base)
    with join_processes() as process:
        folder = tune(find_model(model), corpus, output, config, process, force, pairs)
        if process.first:
            say(f"aligner: {folder}")
