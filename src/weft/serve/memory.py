"""Memory that large requests leave free, given back to the system.

The allocator keeps what is freed for the next request: after the largest requests allowed, hundreds of megabytes. Only
glibc's, that of most Linux systems, can be told to give it back; elsewhere nothing happens here.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PAUSE = 10.0  # seconds: what is given back and needed again costs a few milliseconds


@contextmanager
def free_memory_given_back(pause: float = _PAUSE) -> Iterator[None]:
    """Give free memory back to the system now and then, in a thread."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if give_back is None:
        yield
        return
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(pause):
            give_back(0)

    thread = threading.Thread(target=work, name="memory", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
