"""``python -m weft.train RECIPE``: training on hosts that have torch, numpy, tokenizers and safetensors, and no more."""

import sys
from pathlib import Path

from weft.config import load_recipe
from weft.errors import WeftError
from weft.progress import say
from weft.train.recipe import run_recipe

if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--force"]
    if len(arguments) != 1:
        say("usage: python -m weft.train RECIPE.toml [--force]")
        sys.exit(2)
    try:
        run_recipe(load_recipe(Path(arguments[0])), force="--force" in sys.argv)
    except WeftError as error:
        say(f"weft: {error}")
        sys.exit(1)
