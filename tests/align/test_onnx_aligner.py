"""The small aligner and onnxruntime: sessions, failures, processes. What it aligns is tested with ``weft align``."""

from __future__ import annotations

import multiprocessing
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.align import onnx_aligner
from weft.align.onnx_aligner import Aligner
from weft.errors import WeftError

LENGTHS = (2, 3, 5, 8, 11, 14, 18, 40, 130, 150)  # of sentences, in words
PAIR = ("Casa veche .", "The old house .")


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        (MemoryError(), "not enough memory"),
        (RuntimeError("[ONNXRuntimeError] : 6 : std::bad_alloc"), "not enough memory"),
        (RuntimeError("Failed to allocate memory for requested buffer of size 12\nmore"), "not enough memory"),
        (ValueError("first line\nsecond line"), "first line"),
    ],
)
def test_failures_of_onnxruntime_are_one_line(failure: Exception, problem: str, monkeypatch: Any) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise failure

    aligner = Aligner("ro-en", cores=1)
    aligner._ready = [type("Broken", (), {"encode": fail})()]
    with pytest.raises(WeftError, match=f"ro-en: cannot be computed: {problem}$"):
        aligner.align_one(*PAIR)
    monkeypatch.setattr(onnx_aligner.onnxruntime, "InferenceSession", fail)
    with pytest.raises(WeftError, match=f"ro-en: cannot be computed: {problem}$"):
        Aligner("ro-en")


def test_a_thread_that_cannot_be_started_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    aligner = Aligner("ro-en", cores=1)
    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(WeftError, match=r"ro-en: cannot be computed: can't start new thread$"):
        aligner.align_one(*PAIR)


def test_nothing_is_printed_about_a_graph_that_cannot_be_loaded(capfd: pytest.CaptureFixture[str]) -> None:
    aligner = Aligner("ro-en", cores=1)
    aligner._graphs = {"source": b"no graph"}
    with pytest.raises(WeftError, match="ro-en: cannot be computed: "):
        aligner._open_sessions()
    assert capfd.readouterr() == ("", "")


def test_nothing_is_printed_about_a_graph_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    aligner = Aligner("ro-en", cores=1)
    aligner._ready[0]._tables = {name: table[:2] for name, table in aligner._tables.items()}
    with pytest.raises(WeftError, match=r"ro-en: cannot be computed: .*out of data bounds"):
        aligner.align_one(*PAIR)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_too_little_memory_is_said_to_be_that() -> None:
    code = (
        "import resource, weft, sys\n"
        "aligner = weft.load(cores=1)\n"
        "aligner.align_one('a', 'b')\n"  # parts that are loaded late would end the process for want of memory
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2_000_000,) * 2)\n"
        "try:\n"
        "    aligner.align_one('a ' * 1000, 'b ' * 1000)\n"
        "except (weft.WeftError, MemoryError) as error:\n"
        "    sys.exit(f'{type(error).__name__} {error}')\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and not result.stdout
    assert "memory" in result.stderr.splitlines()[-1].lower()
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can give memory back")
def test_memory_of_long_sentences_is_not_kept() -> None:
    code = (
        "import ctypes, weft\n"
        "def megabytes():\n"
        "    ctypes.CDLL(None).malloc_trim(0)\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * 4096 / 1e6\n"
        "with weft.load(cores=1) as aligner:\n"
        "    aligner.align_one('a b', 'a b')\n"
        "    before = megabytes()\n"
        "    aligner.align_one('a b ' * 500, 'a b ' * 500)\n"
        "    print(megabytes() - before)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert float(result.stdout) < 50  # of a hundred that it takes


def test_processes_share_the_embeddings() -> None:
    aligner = Aligner("ro-en", cores=1)
    mapped = [name for name, table in aligner._tables.items() if isinstance(table, np.memmap)]
    assert mapped == ["source.embedding.words.weight", "target.embedding.words.weight"]


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_an_aligner_can_be_sent_to_other_processes(start: str) -> None:
    aligner = Aligner("ro-en", cores=1)
    expected = str(aligner.align_one(*PAIR))
    with multiprocessing.get_context(start).Pool(1) as pool:
        assert str(pool.apply_async(aligner.align_one, PAIR).get(timeout=60)) == expected


@pytest.mark.parametrize("fast", [False, True])
def test_a_shared_encoder_links_the_same_words_in_both_directions(shared_folder: Path, fast: bool) -> None:
    words = ["Casa", "veche", ".", "The", "old", "house", ",", "1989", "-", "and", "others", "și", "altele", "Europa"]
    chance = random.Random(1)
    sides = [chance.choices(words, k=chance.choice([1, 5, 20, 90])) for _ in range(120)]
    pairs = list(zip(sides[::2], sides[1::2], strict=True))
    aligner = Aligner(shared_folder, cores=1, fast=fast)
    found = list(aligner.align(pairs))
    turned = list(aligner.align([(target, source) for source, target in pairs]))
    assert sum(len(one.links) for one in found) > 300
    assert [one.reversed() for one in turned] == found
    (mapped,) = (name for name, table in aligner._tables.items() if isinstance(table, np.memmap))
    assert mapped == "both.embedding.words.weight"


@pytest.mark.parametrize("merge", ["mean", "best-cells"])
def test_a_pair_has_the_links_and_the_score_beside_others_that_it_has_alone(merge: Any) -> None:
    """Links are made of many pairs at once, padded to the longest."""
    draw = random.Random(1)

    def sentence() -> str:
        return " ".join(draw.choices(["casa", "veche", "ploaie", "the", "old", "house", "."], k=draw.choice(LENGTHS)))

    pairs = [(sentence(), sentence()) for _ in range(60)]
    with Aligner("ro-en", cores=1, merge=merge) as aligner:
        together = list(aligner.align(pairs))
        alone = [aligner.align_one(*pair) for pair in pairs]
    assert [(one.probabilities, one.score) for one in together] == [(one.probabilities, one.score) for one in alone]
