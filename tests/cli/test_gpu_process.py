"""One process computes for others; here torch computes on the processor."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from weft.align.model_folder import open_model
from weft.cli.align import Options, align
from weft.cli.aligning import BLOCK_LINES, Device
from weft.cli.gpu_process import RemoteAligner, gpu_process
from weft.errors import WeftError
from weft.model.torch_aligner import TorchAligner, scorer_aligner

MODEL = open_model("ro-en")
PAIRS = [
    (line.split("\t")[0], line.split("\t")[1])
    for line in (Path(__file__).parents[1] / "ordinary" / "ro-en.tsv").read_text("utf-8").splitlines()
]


def load() -> TorchAligner:
    return scorer_aligner(MODEL, "cpu", fast=True)


def fail() -> NoReturn:
    raise WeftError("no such aligner")


def break_off() -> NoReturn:
    raise RuntimeError("CUDA error: no kernel\nCUDA kernel errors might be reported later")


def end(number: int) -> NoReturn:
    os._exit(number)


def test_links_are_those_of_an_aligner_in_this_process() -> None:
    ours = load()
    with gpu_process(load) as address:
        remote = [RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False) for _ in range(2)]
        for matrices in (False, True):
            wanted = list(ours.align(PAIRS, matrices=matrices))
            assert any(one.links for one in wanted)
            for aligner in remote:
                found = list(aligner.align(PAIRS, matrices=matrices))
                assert found == wanted
                assert [one.matrix is None for one in found] == [not matrices] * len(PAIRS)
        assert list(remote[0].align(PAIRS, merge="grow-diag")) == list(ours.align(PAIRS, merge="grow-diag"))
        assert list(remote[0].align([])) == [] and str(remote[1].align_one("", "a")) == ""
    assert not multiprocessing.active_children()


def test_an_aligner_that_cannot_be_loaded_is_told_to_those_who_ask() -> None:
    with gpu_process(fail) as address:
        aligner = RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False)
        for _ in range(2):
            with pytest.raises(WeftError, match="no such aligner"):
                aligner.align_one("a", "b")


def test_what_the_device_says_is_one_line() -> None:
    with gpu_process(break_off) as address:
        aligner = RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False)
        with pytest.raises(WeftError, match="cannot be computed on the GPU: CUDA error: no kernel; leave out"):
            aligner.align_one("a", "b")


def test_others_cannot_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    with gpu_process(load) as address:
        with monkeypatch.context() as patch:
            patch.setattr(multiprocessing.current_process(), "authkey", b"of others")
            with pytest.raises(multiprocessing.AuthenticationError):
                RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False)
        aligner = RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False)
        assert aligner.align_one(*PAIRS[0]).links


def test_the_end_of_the_process_is_one_line() -> None:
    with pytest.raises(WeftError, match="has ended"), gpu_process(partial(end, 1)) as address:
        RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False).align_one("a", "b")
    with gpu_process(load) as address:
        aligner = RemoteAligner(address, MODEL, "mean", None, raw=False, reverse=False)
        (process,) = multiprocessing.active_children()
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(WeftError, match="has ended, perhaps for want of memory"):
            aligner.align_one(*PAIRS[0])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("fast", [False, True])
def test_the_command_on_a_gpu(fast: bool, tmp_path: Path) -> None:
    """Two blocks, so that several processes ask the one that computes."""
    text, count = tmp_path / "text.tsv", BLOCK_LINES["cuda"] + 1
    lines = itertools.islice(itertools.cycle(f"{source}\t{target}\n" for source, target in PAIRS), count)
    text.write_text("".join(lines), encoding="utf-8")
    written = []
    devices: list[Device] = ["cuda", "cpu"]
    for device in devices:
        output = tmp_path / device
        align(Options(str(text), model=str(MODEL.path), fast=fast, device=device, output=str(output)))
        written.append([set(line.split()) for line in output.read_text("utf-8").splitlines()])
    on_gpu, on_processor = written
    assert len(on_gpu) == len(on_processor) == count
    same = sum(len(one & other) for one, other in zip(on_gpu, on_processor, strict=True))
    assert same > 0.97 * max(sum(map(len, on_gpu)), sum(map(len, on_processor)))
