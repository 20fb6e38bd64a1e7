"""The command line: a module for each command, of the command's name.

None of them imports torch, onnxruntime or matplotlib before it runs, so that ``weft --help`` answers at once.
"""

from __future__ import annotations

import os
import sys

import tyro

import weft
from weft.cli import align, demo, evaluate, experiments, models, plot, prepare, show, symmetrize, train, translate, tune
from weft.errors import errors_as_lines

_COMMANDS = {
    "align": align.align,
    "models": models.models,
    "train": train.train,
    "tune": tune.tune,
    "prepare": prepare.prepare,
    "translate": translate.translate,
    "symmetrize": symmetrize.symmetrize,
    "evaluate": evaluate.evaluate,
    "show": show.show,
    "plot": plot.plot,
    "experiments": experiments.experiments,
    "demo": demo.demo,
}


def main() -> None:
    """Run the command ``weft``."""
    if sys.argv[1:] == ["--version"]:
        print(f"weft {weft.__version__}")
        return
    try:
        with errors_as_lines():
            tyro.extras.subcommand_cli_from_dict(
                _COMMANDS,
                prog="weft",
                description="Neural word alignment from parallel text alone.",
                config=(tyro.conf.FlagCreatePairsOff,),
            )
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains while it exits
        sys.exit(1)
