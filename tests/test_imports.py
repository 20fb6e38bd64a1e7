"""Layers may import from those before them only, and what needs no torch loads none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import weft

PACKAGE = Path(weft.__file__).parent
LAYERS = ["errors", "progress", "config", "settings", "text", "align", "evaluate", "model", "train", "apps"]
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(module: str) -> int | None:
    """The layer of a module such as weft.text.words; None for weft itself."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else None


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_from_layers_before_them(path: Path) -> None:
    name = "weft." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    own = layer_of(name)
    if own is None:  # weft itself and __main__, which is the command line
        return
    for module in imported_modules(path):
        other = layer_of(module) if module.startswith("weft.") else None
        assert other is None or other <= own, f"{name} imports {module} from a later layer"


TORCHLESS = [
    *PACKAGE.glob("text/*.py"),
    *PACKAGE.glob("align/*.py"),
    PACKAGE / "evaluate.py",
    PACKAGE / "apps/score.py",
    *(PACKAGE / f"apps/{name}.py" for name in ("grid", "picture", "show")),
]


@pytest.mark.parametrize("path", sorted(TORCHLESS), ids=lambda path: path.name)
def test_text_and_links_never_import_torch(path: Path) -> None:
    assert not {module for module in imported_modules(path) if module.split(".")[0] == "torch"}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["prepare", "--help"], ["train", "--help"], ["align", "--help"], ["show", "--help"], ["--version"]],
)
def test_help_loads_neither_torch_nor_numpy(arguments: list[str]) -> None:
    code = (
        "import sys; from weft.apps.cli import main; sys.argv = ['weft', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'numpy', 'tokenizers') if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"
    assert result.stdout


def test_training_needs_nothing_but_torch_numpy_tokenizers_and_safetensors() -> None:
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(['tyro', 'tqdm', 'zstandard', 'sacremoses', 'sacrebleu', 'matplotlib'])\n"
        "import weft.train.run, weft.model.translator"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
