"""``python -m weft.train RECIPE``: training where little more than torch, tokenizers and safetensors is installed."""

import sys

from weft.command import run_as_command
from weft.progress import say
from weft.recipe import find_recipe, load_recipe
from weft.train.run import run_recipe

if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--force"]
    if not arguments:
        say("usage: python -m weft.train RECIPE.toml [training.updates=500 …] [--force]")
        sys.exit(2)
    with run_as_command():
        run_recipe(load_recipe(find_recipe(arguments[0]), arguments[1:]), force="--force" in sys.argv)
