"""Ctrl-C waits for the end of a block."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from weft.interrupts import interrupts_later


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_comes_at_the_end() -> None:
    done = []
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        with interrupts_later():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all of it")
        done.append("what comes after it")
    assert done == ["all of it"] and signal.getsignal(signal.SIGINT) is handler


def test_other_threads_may_use_it() -> None:
    done = []

    def work() -> None:
        with interrupts_later():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
