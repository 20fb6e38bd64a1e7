"""Ctrl-C that waits while something is done that must not be left half-done."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold SIGINT back until the end of the block; then KeyboardInterrupt is raised.

    Blocking it in this thread is not enough: another one, such as those of numpy's libraries, may receive it, and then
    Python raises KeyboardInterrupt here, in the middle of the block. So its handler only takes a note.
    """
    arrived: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None  # None also for one that is not of Python
    if handler is not None:
        signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if sys.platform != "win32" else None
    try:
        yield
    finally:
        if sys.platform != "win32" and mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)
