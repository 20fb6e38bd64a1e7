"""The examples of README.md and docs/ are run: commands on a few sentences, Python with what it claims to print."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from memory_files import tmx_of_pairs

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Training, or an installation; or a service, whose page is run with its tests.
_LONG = re.compile(r"runs?/|experiments|prepared|demo|pip install|train (?!.*--plan)|serve|podman")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


COMMANDS = [
    pytest.param(line, id=f"{page.name}: {line.split('#')[0].strip()}")
    for page in PAGES
    for block in blocks(page, "sh")
    for line in block.splitlines()
    if "weft " in line and not _LONG.search(line)
]
PROGRAMS = [
    pytest.param(block, id=page.name) for page in PAGES for block in blocks(page, "python") if page.name != "service.md"
]

LABELLED = {  # the sentence of docs/labels.md in all formats
    "news.iob2": "The O\nold O\nhouse B-THING\nbelongs O\nto O\nAnna B-PER\n. O\n",
    "news.de": "Das alte Haus gehört Anna.\n",
    "news.conllu": "1\tAnna\t_\tPROPN\t_\t_\t0\troot\t_\tEntity=(1-person)\n",
    "news.jsonl": '{"text": "Anna", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n',
    "pairs.jsonl": '{"source": {"text": "Anna", "spans": [[0, 4, "PER"]]}, "target": "Anna"}\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces_model: str) -> Path:
    """The files that the examples name: six sentence pairs, repeated, and their links."""
    pairs = [line.split("\t") for line in (ROOT / "examples" / "de-en.tsv").read_text("utf-8").splitlines()] * 3
    shutil.copy(pieces_model, tmp_path / "vocab.spm")
    for name in ("corpus", "text", "pieces", "words"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs), "utf-8")
        for language, side in (("de", 0), ("ro", 0), ("en", 1)):
            (tmp_path / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "letters.tsv").write_bytes((tmp_path / "corpus.tsv").read_bytes())
    (tmp_path / "memory.tmx").write_text(tmx_of_pairs((other, one) for one, other in pairs), "utf-8")
    (tmp_path / "catalogue.po").write_text(
        "".join(f'msgid "{one}"\nmsgstr "{other}"\n' for one, other in pairs), "utf-8"
    )
    for name in ("forward", "backward", "optimised", "merged", "other", "system", "system-a", "system-b"):
        (tmp_path / f"{name}.links").write_text("0-0 1-1\n" * len(pairs))
    (tmp_path / "pieces.aln").write_text("0-0 1-1\n" * len(pairs))
    (tmp_path / "gold.txt").write_text("1-1 2p2\n" * len(pairs))
    for name, content in LABELLED.items():
        (tmp_path / name).write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work(command: str, folder: Path) -> None:
    called = re.sub(r"\bweft ", f"{sys.executable} -m weft ", command, count=1)
    result = subprocess.run(["bash", "-c", f"set -o pipefail; {called}"], capture_output=True, text=True)
    assert result.returncode == 0 and "weft:" not in result.stderr, result.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_what_their_comments_say(program: str, folder: Path) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "example", "exec"), {})  # it is our own documentation
    assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_completion_knows_the_commands(folder: Path) -> None:
    script = subprocess.run([sys.executable, "-m", "weft", "--tyro-print-completion", "bash"], capture_output=True)
    assert script.returncode == 0 and b"symmetrize" in script.stdout and b"--line-buffered" in script.stdout
    assert subprocess.run(["bash", "-n"], input=script.stdout).returncode == 0


def test_the_map_names_every_module_once() -> None:
    table = (ROOT / "docs" / "overview.md").read_text(encoding="utf-8").split("\n## ")[1]
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[2] for line in table.splitlines() if line.count("|") == 4))
    modules = {path.stem for path in (ROOT / "src" / "weft").rglob("*.py")} - {"__init__", "__main__"}
    assert sorted(named) == sorted(modules)
