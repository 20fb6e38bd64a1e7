"""The command line. Each command imports what it needs when it runs: ``weft --help`` never loads torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import weft
from weft.config import Merge, Method, PrepareConfig, Symmetrisation, TuneConfig
from weft.errors import WeftError, errors_as_lines
from weft.progress import say
from weft.recipe import Stage


def _choice(shown: str, default: str) -> Any:
    """An option that may be left open."""
    return tyro.conf.arg(metavar=shown, help_behavior_hint=f"(default: {default})")


def prepare(
    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[FILE …]")] = (),
    /,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    source: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    target: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE …")] = (),
    config: Annotated[PrepareConfig, tyro.conf.OmitArgPrefixes] = PrepareConfig(),  # noqa: B008
    force: bool = False,
) -> None:
    """Turn parallel text into a folder of memory-mapped ids that training opens at once.

    Args:
        files: TSV, `source ||| target`, .jsonl or .parquet; plain, .gz, .xz or .zst; - is stdin.
        output: Folder to make.
        source: Source sides of text in two files.
        target: Target sides, as many files as source sides.
        config: Options, recorded in the folder.
        force: Overwrite the folder if it exists.
    """
    from weft.text.corpus import Corpus
    from weft.text.prepare import prepare, report

    say(report(prepare(Corpus(files, source, target), config, output, force)))


def train(
    what: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RECIPE.toml | TEXT … [SETTING=VALUE …]")
    ],
    /,
    *,
    until: Annotated[Stage | None, _choice("STAGE", "the recipe's last")] = None,
    plan: bool = False,
    force: bool = False,
) -> None:
    """Train an aligner on parallel text (`weft train corpus.de corpus.en`) or by a recipe; goes on where it stopped.

    Args:
        what: Parallel text in one file or two, or a TOML file (docs/training.md lists what it may say); and settings to
            put over what weft chooses or the recipe says, such as run=mine training.updates=500. The aligner will be in
            RUN/aligner. Under torchrun: `torchrun … -m weft train RECIPE.toml`.
        until: Stop after this stage: translate, align, guide, distil.
        plan: Only say what would be done: the stages and how far they are; with text also how long it would take.
        force: Forget checkpoints and start again.
    """
    from weft.settings import load_recipe

    settings = [part for part in what if "=" in part]
    files = [part for part in what if "=" not in part]
    if files and files[0].endswith(".toml"):
        if len(files) > 1:
            raise WeftError(f"{files[1]}: expected a setting such as training.updates=500 behind the recipe")
        recipe = load_recipe(Path(files[0]), settings)
    else:
        from weft.train.own_text import own_recipe

        recipe = own_recipe(files, settings)
    from weft.train.run import overview, run_recipe

    if plan:
        say(overview(recipe, Path(recipe.run)))
        return
    for name, folder in run_recipe(recipe.until(until), force).items():
        if os.environ.get("RANK", "0") == "0":
            say(f"{name}: {folder}")


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
    from weft.align.shipped import find_model
    from weft.text.corpus import Corpus
    from weft.train.distributed import join_processes
    from weft.train.tune import tune

    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,))
    with join_processes() as process:
        say(f"aligner: {tune(find_model(model), corpus, output, config, process)}")


def translate(
    model: Annotated[Path, tyro.conf.Positional],
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-",
    /,
    *,
    beam: int = 5,
    reference: str | None = None,
) -> None:
    """Translate text line by line, from a file or stdin to stdout, in order.

    Args:
        model: Model folder, such as run/forward/model.
        file: Text to translate; plain, .gz, .xz or .zst; - is stdin.
        beam: Hypotheses per sentence; 1 is greedy search.
        reference: Also print BLEU against this file, with its signature, on stderr.
    """
    from weft.apps.translate import translate_file

    translate_file(model, file, beam, reference)


def align(
    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")] = "-",
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TARGET]")] = "",
    /,
    *,
    model: str,
    format: Literal["pharaoh", "probabilities", "words", "giza", "jsonl", "html", "grid"] = "pharaoh",
    raw: bool = False,
    reverse: bool = False,
    method: Annotated[Method | None, _choice("METHOD", "the best that it has")] = None,
    merge: Annotated[Merge | None, _choice("RULE", "what suits the method")] = None,
    threshold: Annotated[float | None, _choice("0…1", "what the model says")] = None,
    fast: bool = False,
    strict: bool = False,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")] = None,
    resume: bool = False,
    line_buffered: bool = False,
    device: Annotated[
        Literal["cpu", "cuda"] | None, _choice("cpu,cuda", "cpu; for a whole system a GPU if there is")
    ] = None,
    cores: int = 0,
) -> None:
    """Align sentence pairs, a line of links for each line of text: `weft align --model de-en corpus.tsv > links.txt`.

    Args:
        file: Lines of source TAB target or source ||| target, words between spaces; .jsonl, .parquet, or the source
            side alone; also .gz, .xz and .zst; - is stdin.
        target: The target side, if the file has only the source side.
        model: A name that `weft models` lists, or a folder: of a small aligner (run/aligner) or a system (run/model).
        format: `0-0 1-2`, `0-0:0.97 1-2:0.55`, `das|the`, A3 lines, offsets and all; html and grid are to look at.
        raw: The text is not split into words yet: do that by simple rules. Otherwise words stand between spaces.
        reverse: The text has the model's target language first; the links, too.
        method: How a whole system aligns: forward-pass, optimised, bidirectional or guided.
        merge: How links are made of both directions: mean, best-cells, intersection, union, grow-diag, grow-diag-final,
            grow-diag-final-and, lilt-grow-diag, lilt-grow-diag-final; or forward or backward alone.
        threshold: For --merge mean: the probability that a link needs. Higher: fewer and better links.
        fast: Use the narrow encoders of a small aligner, where it has them: faster, less accurate.
        strict: Stop at a line that cannot be aligned, instead of giving an empty line and a warning.
        output: Write into this file instead of stdout; until it is finished it is called FILE.partial.
        resume: Go on with FILE.partial where an earlier command with the same options was interrupted.
        line_buffered: Answer each line before the next is read, for programs that wait for it; slower.
        device: Where to compute; cuda needs torch.
        cores: How many cores of the processor to use; 0 for all.
    """
    from weft.apps.align import align_file
    from weft.text.corpus import Corpus

    corpus = Corpus(source=(file,), target=(target,)) if target else Corpus(files=(file,))
    align_file(
        model,
        corpus,
        output,
        form=format,
        raw=raw,
        reverse=reverse,
        method=method,
        merge=merge,
        threshold=threshold,
        fast=fast,
        strict=strict,
        resume=resume,
        line_buffered=line_buffered,
        device=device,
        cores=cores,
    )


def models(name: Annotated[str, tyro.conf.Positional] = "", /) -> None:
    """List the aligners that come with weft, or show the card of one.

    Args:
        name: One of them, or a model folder.
    """
    from weft.apps.models import list_models, show_card

    show_card(name) if name else list_models()


def symmetrize(
    forward: Annotated[str, tyro.conf.Positional],
    backward: Annotated[str, tyro.conf.Positional],
    /,
    *,
    method: Symmetrisation = "grow-diag",
    reversed: bool = False,
) -> None:
    """Merge the links of the two directions, line by line, to stdout.

    Args:
        forward: Links of the source-to-target aligner, one sentence pair a line, such as 0-0 1-2.
        backward: Links of the target-to-source aligner; source word first, as in the other file.
        method: The rule; the names with lilt- let a link grow only where both its words are free.
        reversed: The second file has the target word first.
    """
    from weft.apps.score import symmetrize_files

    symmetrize_files(forward, backward, method, reversed)


def evaluate(
    gold: Annotated[str, tyro.conf.Positional],
    systems: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SYSTEM …")],
    /,
    *,
    source: str | None = None,
    target: str | None = None,
    gold_base: Literal[0, 1] = 1,
    gold_format: Literal["auto", "links", "naacl"] = "auto",
    errors: int = 0,
    resamples: int = 1_000,
    seed: int = 1,
) -> None:
    """Score links against gold: AER, precision, recall, F1, with 95 % intervals and paired tests between systems.

    Args:
        gold: Gold links, `3-4` sure and `3p4` possible, or lines of `sentence source target S|P` (NAACL 2003).
        systems: Links to score, one file a system, counted from zero.
        source: The source sentences; with --target, links are checked against the sentences' lengths.
        target: The target sentences.
        gold_base: The number of the first word in the gold file.
        gold_format: Form of the gold file; auto: tell by its first line.
        errors: Show this many of the most frequent wrong and missed word pairs (needs --source and --target).
        resamples: Corpora drawn for intervals and tests.
        seed: Of the draws.
    """
    from weft.apps.score import evaluate_files

    evaluate_files(gold, systems, source, target, gold_base, gold_format, errors, resamples, seed)


def show(
    source: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")],
    links: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[LINKS …]")] = (),
    /,
    *,
    model: str | None = None,
    line: Annotated[tuple[int, ...], tyro.conf.arg(metavar="N …")] = (1,),
    gold: str | None = None,
    gold_base: Literal[0, 1] = 1,
    new: bool = False,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
) -> None:
    """Show the links of a sentence pair as a matrix, in the terminal or as a picture.

    Args:
        source: The source sentences, one a line.
        target: The target sentences.
        links: Links counted from zero, such as 0-0 1-2; each file becomes a panel.
        model: A name that `weft models` lists, or a model folder: show what it makes of the sentences, too.
        line: Lines to show, counted from one.
        gold: Gold links, shown as frames; `3-4` sure and `3p4` possible, or in the format of NAACL 2003.
        gold_base: The number of the first word in the gold file.
        new: Set off the links of the last file that no other file has (needs three files or more).
        output: Draw a picture of one line instead; its ending says which format (.svg, .png, .pdf).
    """
    from weft.apps.show import show_files

    show_files(source, target, links, model, line, gold, gold_base, new, output)


def plot(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    /,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("loss.png"),
) -> None:
    """Draw the loss curves of runs into one picture.

    Args:
        runs: Folders with a metrics.jsonl, or folders of such folders.
        output: The picture; its ending says which format (.png, .svg, .pdf).
    """
    from weft.apps.plot import plot_losses

    plot_losses(runs, output)


def experiments(
    file: Annotated[Path, tyro.conf.Positional] = Path("recipes/reproduction.toml"),
    settings: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SETTING=VALUE …]")] = (),
    /,
) -> None:
    """Make the paper's experiments again and write a report; what is finished is not done again.

    Args:
        file: A TOML file that names language pairs and their recipes.
        settings: Put over what the file says, such as output=report.
    """
    from weft.apps.reproduction import run_experiments

    run_experiments(file, settings)


def demo(
    folder: Annotated[Path, tyro.conf.Positional] = Path("weft-demo"),
    /,
    *,
    pairs: int = 20_000,
    updates: int = 500,
    force: bool = False,
) -> None:
    """Train a tiny aligner on a made-up language, score every stage, and show a sentence pair; two minutes on a CPU.

    Args:
        folder: Where everything goes: text, prepared corpus, models, picture.
        pairs: Sentence pairs to make.
        updates: Updates of the translation models; the layers get fewer.
        force: Start again in a folder that exists.
    """
    from weft.apps.demo import run_demo

    run_demo(folder, pairs, updates, force)


COMMANDS = {
    "prepare": prepare,
    "train": train,
    "tune": tune,
    "translate": translate,
    "align": align,
    "models": models,
    "symmetrize": symmetrize,
    "evaluate": evaluate,
    "show": show,
    "plot": plot,
    "experiments": experiments,
    "demo": demo,
}


def main() -> None:
    """Entry point of the command ``weft``."""
    if sys.argv[1:] == ["--version"]:
        print(f"weft {weft.__version__}")
        return
    try:
        with errors_as_lines():
            tyro.extras.subcommand_cli_from_dict(
                COMMANDS,
                prog="weft",
                description="Neural word alignment from parallel text alone.",
                config=(tyro.conf.FlagCreatePairsOff,),
            )
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains while it exits
        sys.exit(1)
