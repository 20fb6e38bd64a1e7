"""Layers may import from those before them only, and what needs no torch loads none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import weft

PACKAGE = Path(weft.__file__).parent
LAYERS = [
    *("errors", "interrupts", "command", "progress", "config", "storage", "config_io", "workers", "recipe"),
    *("text", "links", "corpus", "align", "apply", "scoring", "serve", "model", "train", "cli"),
]
MODULES = sorted(PACKAGE.rglob("*.py"))
# A method of aligners that belongs to a later layer: it is imported when it is called.
METHODS = {("weft.align.windowed", "weft.apply.markup_transfer"), ("weft.align.windowed", "weft.apply.markup")}


def layer_of(module: str) -> int | None:
    """The layer of a module such as weft.text.words; None for weft itself."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else None


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module and node.level == 0, f"{path} has a relative import"
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_from_layers_before_them(path: Path) -> None:
    name = "weft." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    own = layer_of(name)
    if name in {"weft.__init__", "weft.__main__"}:  # the doors: what is public, and the command line
        return
    assert own is not None, f"{name} is in no layer"
    for module in imported_modules(path):
        if any(name == user and module.startswith(used) for user, used in METHODS):
            continue
        other = layer_of(module) if module.startswith("weft.") else None
        assert other is None or other <= own, f"{name} imports {module} from a later layer"


def test_no_two_modules_have_the_same_name() -> None:
    stems = [path.stem for path in MODULES if path.stem not in {"__init__", "__main__"}]
    assert len(stems) == len(set(stems)), [stem for stem in stems if stems.count(stem) > 1]


def test_what_needs_no_torch_loads_none() -> None:
    """Importing every module outside model and train, whatever it imports in turn, must not bring torch in."""
    names = [".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in MODULES]
    light = {"train.runlog", "train.stages"}
    names = [name for name in names if not name.startswith(("model.", "train.")) or name in light]
    assert len(names) > 40 and "scoring" in names and "cli.align" in names
    code = "import importlib, sys\n" + "".join(
        f"importlib.import_module('weft.{name}')\nassert 'torch' not in sys.modules, '{name}'\n" for name in names
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], *([name, "--help"] for name in ("prepare", "train", "align", "show", "serve"))],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from weft.cli import main; sys.argv = ['weft', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'onnxruntime', 'matplotlib', 'sacrebleu', 'pyarrow', 'numpy', 'tokenizers', 'safetensors',\n"
        "         'fastapi', 'pydantic', 'uvicorn'}\n"
        "print(sorted(heavy & sys.modules.keys()), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"
    assert result.stdout


def test_training_needs_nothing_but_torch_numpy_tokenizers_and_safetensors() -> None:
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(['tyro', 'tqdm', 'zstandard', 'sacrebleu', 'matplotlib'])\n"
        "import weft.train.run, weft.model.translator"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
