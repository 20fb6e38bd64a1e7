"""Signals while training: what is worth saving is saved, everything else ends at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tiny_runs import PROCESS

from weft.train.distributed import end_at_once, stop_signals


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def test_a_signal_is_collected_if_there_is_something_to_save(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped, stop_signals(lambda: True) as stop:
        assert stop() == 0
        send(signal.SIGTERM)
        assert stop() == signal.SIGTERM
        send(signal.SIGINT)  # the second one
    assert stopped.value.code == 128 + signal.SIGINT
    assert capsys.readouterr().err.startswith("stopped;")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_at_once_if_there_is_nothing_to_save(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as stopped, end_at_once(PROCESS):
        send(number)
    assert stopped.value.code == 128 + number and "the same command goes on" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_threads_are_left_alone() -> None:
    found: list[int] = []

    def run() -> None:
        with stop_signals(lambda: True) as stop:
            found.append(stop())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [0]


def test_a_long_first_update_does_not_keep_training_alive(recipe_file: Path) -> None:
    code = (
        "import sys, time; from weft.recipe import load_recipe; from weft.train.run import run_recipe\n"
        "from weft.train.stage_translate import TranslationTask\n"
        "TranslationTask.sums = lambda *_: print('updating', file=sys.stderr, flush=True) or time.sleep(600)\n"
        "from pathlib import Path; run_recipe(load_recipe(Path(sys.argv[1])))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(recipe_file)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while process.stderr.readline() != "updating\n":
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM
    assert rest == "stopped; the same command goes on from the last checkpoint\n"
