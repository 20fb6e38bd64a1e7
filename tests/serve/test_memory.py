"""Free memory goes back to the system."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from weft.serve.memory import free_memory_given_back

HOLES = 5_000  # blocks that are freed between others that are not: the heap cannot just become shorter
BLOCK = 20_000  # bytes


def megabytes() -> float:
    """Return the memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can")
def test_free_memory_is_given_back_until_the_end() -> None:
    blocks = [bytes([1]) * (BLOCK if number % 2 else 1_000) for number in range(2 * HOLES)]
    full = megabytes()
    del blocks[1::2]
    held = full - megabytes()
    with free_memory_given_back(pause=0.01):
        deadline = time.monotonic() + 20
        while full - megabytes() < 70 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert held < 30 < 70 <= full - megabytes()
    assert "memory" not in [thread.name for thread in threading.enumerate()] and blocks
