"""The commands as users run them: exit codes, one-line errors, order of lines."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from weft.config import PRESETS, TrainingConfig
from weft.corpus.prepared import PreparedCorpus
from weft.recipe import StartConfig
from weft.train.distributed import Process
from weft.train.stage_translate import train_translation

WEFT = [sys.executable, "-m", "weft"]


def weft(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*WEFT, *map(str, arguments)], input=stdin, capture_output=True)


def one_line(result: subprocess.CompletedProcess[bytes]) -> str:
    """The error of a failed command, which must be a single line."""
    lines = result.stderr.decode().splitlines()
    assert result.returncode == 1 and len(lines) == 1 and lines[0].startswith("weft: "), result.stderr.decode()
    return lines[0]


@pytest.fixture(scope="module")
def model(corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned a little."""
    run = tmp_path_factory.mktemp("run")
    config = TrainingConfig(updates=150, target_tokens=1_500, warm_up=20, log_every=10)
    process = Process(0, 1, torch.device("cpu"))
    train_translation(corpus, PRESETS["tiny"], config, {"forward": run}, StartConfig(), process)
    return run / "model"


def test_version_and_usage_errors() -> None:
    assert weft("--version").stdout.startswith(b"weft ")
    assert weft("nonsense").returncode == 2
    assert "name the folder to make with --output" in one_line(weft("prepare"))
    assert weft("plot").returncode == 2
    assert weft("prepare", "x.tsv", "--output", "y", "--force", "maybe").returncode == 2
    assert "merges must be of type int" in one_line(weft("prepare", "x.tsv", "merges=many", "--output", "y"))


@pytest.mark.skipif(sys.platform != "linux", reason="others have no GNU OpenMP")
def test_threads_of_torch_that_wait_for_each_other_sleep_soon(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").touch()
    command = [*WEFT, "tune", str(tmp_path / "text.tsv"), "--model", "multi", "-o", str(tmp_path / "run")]
    told = subprocess.run(command, env=os.environ | {"OMP_DISPLAY_ENV": "verbose"}, capture_output=True, text=True)
    assert "GOMP_SPINCOUNT = '10000'" in told.stderr


def test_prepare_from_stdin(tmp_path: Path) -> None:
    result = weft("prepare", "-", "merges=10", "-o", tmp_path / "out", stdin=b"ein Haus ||| a house\n" * 9)
    assert result.returncode == 0
    assert b"9 of 9 pairs" in result.stderr and result.stdout == b""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "no sentence pair is left"),
        (b"a\tb\nc d\n", "text.tsv:2: expected two columns"),
        (b"a\tb\na\t\xff\n", "text.tsv:2: invalid UTF-8 at byte 3"),
        (b"\t\n \t \n", "2 empty"),
    ],
)
def test_prepare_refuses_bad_text(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "text.tsv").write_bytes(content)
    message = one_line(weft("prepare", tmp_path / "text.tsv", "-o", tmp_path / "out"))
    assert expected in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.tsv"]


def test_prepare_refuses_files_of_different_length_and_existing_folders(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\ny\n")
    (tmp_path / "b").write_bytes(b"x\n")
    message = one_line(weft("prepare", "--source", tmp_path / "a", "--target", tmp_path / "b", "-o", tmp_path / "out"))
    assert "a has 2 lines" in message and "b has 1" in message
    message = one_line(weft("prepare", "--source", tmp_path / "a", "--target", tmp_path / "a", "-o", tmp_path))
    assert "already exists" in message and "force" in message


def test_train_refuses_bad_recipes_and_other_corpora(tmp_path: Path, text_file: Path) -> None:
    assert "No such file" in one_line(weft("train", tmp_path / "none.toml"))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'run = "{tmp_path / "run"}"\nfiles = ["{text_file}"]\npreset = "tiny"\nstages = ["translate"]\n')
    settings = ["training.updates=1", "training.target_tokens=200", "prepare.merges=20"]
    assert weft("train", recipe, *settings).returncode == 0
    assert "other options" in one_line(weft("train", recipe, *settings[:2], "prepare.merges=21"))
    assert "not a prepared corpus" in one_line(weft("train", recipe, f"prepared={tmp_path}"))


def test_translate_keeps_lines_and_their_order(model: Path, corpus: PreparedCorpus, tmp_path: Path) -> None:
    sources, targets = zip(*(line.split("\t") for line in corpus.held_out.read_text().splitlines()), strict=True)
    lines = [*sources[:3], "", "   ", *reversed(sources[3:]), "unseen 北京 words", "the " * 300]
    (tmp_path / "in.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    together = weft("translate", "--model", model, tmp_path / "in.gz", "--beam", 2).stdout.decode().split("\n")
    assert len(together) == len(lines) + 1 and together[-1] == ""
    assert together[3] == together[4] == ""
    alone = weft("translate", "--model", model, "--beam", 2, stdin=lines[5].encode()).stdout.decode()
    assert alone == together[5] + "\n"

    (tmp_path / "reference").write_text("\n".join(targets) + "\n")
    result = weft(
        "translate", "--model", model, "--reference", tmp_path / "reference", stdin="\n".join(sources).encode()
    )
    score, signature = result.stderr.decode().splitlines()
    assert score.startswith("BLEU = ") and float(score.split()[2]) > 5
    assert "nrefs:1|case:lc" in signature and "tok:13a" in signature


def test_translate_refuses_what_it_cannot_use(model: Path, tmp_path: Path) -> None:
    assert "stdin:2: invalid UTF-8" in one_line(weft("translate", "--model", model, stdin=b"a\n\xff\n"))
    assert "not a model folder" in one_line(weft("translate", "--model", tmp_path))
    assert "at least 1" in one_line(weft("translate", "--model", model, "--beam", 0))
    (tmp_path / "reference").write_text("one\n")
    message = weft("translate", "--model", model, "--reference", tmp_path / "reference", stdin=b"a\nb\n")
    assert message.returncode == 1 and b"2 translations but 1 reference" in message.stderr


def test_a_full_stdout_and_a_closed_pipe(model: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*WEFT, "translate", "--model", model], input=b"the king\n", stdout=full, stderr=subprocess.PIPE
        )
    assert result.returncode == 1 and b"No space left" in result.stderr and b"Traceback" not in result.stderr
    piped = f"yes 'the king' | head -n 300 | {sys.executable} -m weft translate --model {model} --beam 1 | head -n 1"
    result = subprocess.run(piped, shell=True, capture_output=True)
    assert result.stdout.count(b"\n") == 1 and result.stderr == b""


def test_plot_draws_a_picture(model: Path, tmp_path: Path) -> None:
    assert weft("plot", model.parents[1], "-o", tmp_path / "loss.png").returncode == 0
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert "no metrics.jsonl" in one_line(weft("plot", tmp_path))


def test_a_demo_does_not_overwrite_a_folder(tmp_path: Path) -> None:
    assert "already exists" in one_line(weft("demo", tmp_path))
    assert "already exists" in one_line(weft("demo", tmp_path, "--force"))  # it holds no demo
