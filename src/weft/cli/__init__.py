"""The command line: a module for each command, of the command's name.

None of them imports torch, onnxruntime or matplotlib before it runs, so that ``weft --help`` answers at once.
"""

from __future__ import annotations

import os
import sys

import tyro

import weft
from weft.cli import (
    align,
    bulk,
    demo,
    evaluate,
    experiments,
    lexicon,
    models,
    page,
    plot,
    prepare,
    project,
    serve,
    show,
    symmetrize,
    terms,
    train,
    transfer,
    translate,
    tune,
)
from weft.cli.options import settings_first
from weft.command import run_as_command

_COMMANDS = {
    "align": align.align,
    "bulk": bulk.bulk,
    "transfer": transfer.transfer,
    "project": project.project,
    "lexicon": lexicon.lexicon,
    "terms": terms.terms,
    "serve": serve.serve,
    "models": models.models,
    "page": page.page,
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
    # How often torch's threads look for work before they sleep. With the default, 300,000 times, two threads on busy
    # cores spend their time waiting for each other: tuning learned at a third of the speed (EXPERIMENTS.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    with run_as_command():
        if sys.argv[1:] == ["--version"]:
            print(f"weft {weft.__version__}")
            return
        tyro.extras.subcommand_cli_from_dict(
            _COMMANDS,
            prog="weft",
            description="Neural word alignment from parallel text alone. `weft --version` says which weft this is.",
            config=(tyro.conf.FlagCreatePairsOff,),
            args=settings_first(sys.argv[1:]),
        )
