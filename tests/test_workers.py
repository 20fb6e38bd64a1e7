"""Blocks worked on in other processes come back in order, a few at a time, errors included."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from weft import workers as workers_module
from weft.errors import BadLine, WeftError
from weft.text.reading import Block
from weft.workers import available_cores, map_in_order

# A program whose workers are busy for ever; it writes the number of the process that did the work.
ENDLESS = """
import itertools, os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let programs in the background ignore it
from weft.command import run_as_command
from weft.workers import map_in_order

def worker(item):
    return os.getpid()

def items():
    for number in itertools.count():
        time.sleep(0.01)
        yield number

if __name__ == "__main__":
    with run_as_command():
        for process in map_in_order(worker, items(), 2):
            print(process, flush=True)
"""


def first_ones_last(item: int) -> tuple[int, int]:
    time.sleep(0.2 if item < 2 else 0)
    return item, os.getpid()


def double(item: int) -> int:
    return 2 * item


def read_block(block: Block) -> int:
    return len(list(block.pairs()))


def divide(item: int) -> float:
    return 1 / item


def die(item: int) -> None:
    os._exit(1)


def no_pool(*arguments: object, **options: object) -> NoReturn:
    raise AssertionError("a pool was started")


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program above in a session of its own, with its workers at work."""
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    with process:
        assert int(process.stdout.readline()) != process.pid
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_results_come_in_order_from_other_processes() -> None:
    results = list(map_in_order(first_ones_last, range(20), processes=2))
    assert [item for item, _ in results] == list(range(20))
    assert os.getpid() not in {process for _, process in results}


def test_items_are_not_read_far_ahead() -> None:
    consumed = 0

    def items() -> Iterator[int]:
        nonlocal consumed
        for item in range(200):
            consumed += 1
            yield item

    ahead = [consumed - taken for taken, _ in enumerate(map_in_order(double, items(), processes=2), 1)]
    assert len(ahead) == consumed == 200
    assert 2 <= max(ahead) <= 6  # two for each worker and little more


@pytest.mark.parametrize("processes", [1, 2])
def test_a_bad_line_in_a_worker_comes_through_with_its_fields(processes: int) -> None:
    blocks = [Block("some file", 1, [b"a\tb"]), Block("some file", 2, [b"a\tb", b"bad"])]
    with pytest.raises(BadLine) as caught:
        list(map_in_order(read_block, blocks, processes))
    assert (caught.value.file, caught.value.line) == ("some file", 3)
    assert caught.value.problem.startswith("expected two columns")
    assert str(caught.value).startswith("some file:3: expected two columns")


def test_results_before_an_error_are_given() -> None:
    results = map_in_order(divide, [1, 2, 0], processes=2)
    assert [next(results), next(results)] == [1, 0.5]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_an_error_while_items_are_made_comes_through() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise WeftError("the file ends here")

    with pytest.raises(WeftError, match="the file ends here"):
        list(map_in_order(double, items(), processes=2))


def test_a_killed_worker_is_an_error_of_one_line() -> None:
    with pytest.raises(WeftError, match="a worker process was killed"):
        list(map_in_order(die, range(3), processes=2))


@pytest.mark.parametrize(("count", "processes"), [(0, 4), (1, 4), (5, 1)])
def test_one_item_or_one_process_needs_no_pool(count: int, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "ProcessPoolExecutor", no_pool)
    here = [(item, os.getpid()) for item in range(count)]
    assert list(map_in_order(lambda item: (item, os.getpid()), range(count), processes)) == here


def test_one_process_takes_items_one_by_one() -> None:
    items = iter(range(100))
    results = map_in_order(double, items, processes=1)
    assert [next(results) for _ in range(10)] == list(range(0, 20, 2))
    assert next(items) == 10


@pytest.mark.parametrize("error", [OSError(errno.EROFS, "Read-only file system"), ImportError("no sem_open")])
def test_without_worker_processes_the_work_is_done_here(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise error

    monkeypatch.setattr(workers_module, "ProcessPoolExecutor", fail)  # as if /dev/shm were read-only
    assert list(map_in_order(double, range(5), processes=3)) == [0, 2, 4, 6, 8]
    assert capsys.readouterr().err == f"weft: cannot start worker processes ({error}); going on with one process\n"


def test_there_is_a_process_for_each_core_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert available_cores() == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_when_their_parent_is_killed(endless: subprocess.Popen[bytes], number: signal.Signals) -> None:
    endless.send_signal(number)
    _, errors = endless.communicate(timeout=5)  # the pipe ends when the last worker does
    assert endless.returncode == -number
    assert errors == b""  # nor does Python's resource tracker say anything


def test_an_interrupt_is_one_line(endless: subprocess.Popen[bytes]) -> None:
    os.killpg(endless.pid, signal.SIGINT)
    _, errors = endless.communicate(timeout=60)
    assert errors.decode() == "weft: interrupted\n"
    assert endless.returncode == 130
