"""SIGTERM and Ctrl-C while training: save first if there is something to save, else end at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from weft.progress import say
from weft.train.distributed import Process

_AT_ONCE = "stopped; the same command goes on from the last checkpoint"


@contextmanager
def stop_signals(worth_saving: Callable[[], bool]) -> Iterator[Callable[[], int]]:
    """Collect SIGTERM and Ctrl-C. Yields a function that tells which of them came, or 0.

    A signal ends the program at once if nothing is worth saving, or if it is the second one.
    """
    received: list[int] = []

    def receive(number: int, _: object) -> None:
        if received or not worth_saving():
            say(_AT_ONCE)
            raise SystemExit(128 + number)
        received.append(number)

    with _handled(receive):
        yield lambda: received[0] if received else 0


def end_at_once(process: Process) -> AbstractContextManager[Any]:
    """Let SIGTERM and Ctrl-C end the program with one line: for work that would be done again in any case.

    If several processes train together, signals have their default effect, because a process that waits for the others
    does not run Python, which this needs.
    """
    return stop_signals(lambda: False) if process.world == 1 else nullcontext()


@contextmanager
def _handled(receive: Callable[[int, object], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    previous = {number: signal.signal(number, receive) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
