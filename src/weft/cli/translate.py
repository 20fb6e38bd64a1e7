"""``weft translate``: lines in, translations out, and BLEU if there is a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from weft.cli.options import Output
from weft.cli.output import open_output
from weft.errors import WeftError
from weft.progress import Progress, say
from weft.text.reading import check_stdin, read_text


def translate(
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-",
    /,
    *,
    model: Path,
    beam: int = 5,
    reference: str | None = None,
    output: Output = None,
) -> None:
    """Translate text line by line.

    Args:
        file: Text to translate; plain, .gz, .xz or .zst; - is stdin.
        model: Model folder, such as run/forward/model.
        beam: Hypotheses per sentence; 1 is greedy search.
        reference: Also print BLEU against this file, with its signature, on stderr.
        output: Write into this file instead of stdout.
    """
    import torch

    from weft.model.torch_folder import load_translation
    from weft.model.translator import Translator

    if beam < 1:
        raise WeftError(f"--beam must be at least 1, but is {beam}")
    inputs = (file, reference) if reference else (file,)
    check_stdin(inputs)
    references = list(read_text(reference)) if reference else None
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loaded = load_translation(model, device)
    translator = Translator(loaded, beam)
    translations = []
    with open_output(output, inputs) as (out, _), Progress() as progress:
        progress.phase("translating", 0, "lines")
        for translation in translator.translate(read_text(file)):
            print(translation, file=out, flush=output is None)
            progress.advance(1)
            if references is not None:
                translations.append(translation)
    if translator.shortened:
        say(f"{translator.shortened:,} sentences were too long for the model and lost their ends")
    if references is not None:
        say(bleu(translations, references, lowercase=loaded.subwords.text.lowercase))


def bleu(translations: list[str], references: list[str], lowercase: bool) -> str:
    """Return corpus BLEU and the signature of how it was computed."""
    from sacrebleu.metrics.bleu import BLEU

    if len(translations) != len(references):
        raise WeftError(f"{len(translations):,} translations but {len(references):,} reference lines")
    metric = BLEU(lowercase=lowercase, force=True)
    return f"{metric.corpus_score(translations, [references])}\n{metric.get_signature()}"
