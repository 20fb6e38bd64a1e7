"""Work on blocks in several processes and take the results in order, with a bounded number of blocks in flight."""

from __future__ import annotations

import contextlib
import functools
import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import TypeVar

from weft.errors import WeftError
from weft.interrupts import interrupts_later
from weft.progress import say

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_ON_WINDOWS = 61  # processes that one can wait for


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Iterator[Result]:
    """Yield ``map(function, items)``, computed in other processes. ``function`` must be picklable.

    With one process everything happens in this one, and each result comes before the next item is read. With a single
    item, too, so that small inputs do not wait for processes to start; and if the system cannot start any.
    """
    iterator = iter(items)
    head = list(itertools.islice(iterator, 2)) if processes > 1 else []
    pool = _start_pool(processes) if len(head) == 2 else None
    if pool is None:
        yield from map(function, itertools.chain(head, iterator))
        return
    others = multiprocessing.active_children()
    with pool:
        try:
            yield from _in_order(pool, function, head, iterator, 2 * processes)
        except BaseException as error:  # results of what they still do are not wanted
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.terminate()
            if isinstance(error, BrokenProcessPool):
                problem = "a worker process was killed, perhaps for want of memory; try again with less"
                raise WeftError(problem) from None
            raise


def _start_pool(processes: int) -> ProcessPoolExecutor | None:
    """Return a pool of processes, or None, with a message, if this system cannot have one."""
    try:
        _start_quiet_tracker()
        # spawn: workers start clean, whatever threads and locks the parent has
        context = multiprocessing.get_context("spawn")
        most = _MOST_ON_WINDOWS if sys.platform == "win32" else processes
        return ProcessPoolExecutor(min(processes, most), context, _start_worker)
    except (OSError, ImportError, NotImplementedError) as error:  # such as a read-only /dev/shm
        say(f"weft: cannot start worker processes ({error}); going on with one process")
        return None


@contextlib.contextmanager
def background_process(function: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Run a function in another process until the end of the block. It and its arguments must be picklable."""
    _start_quiet_tracker()
    target = functools.partial(_run_as_worker, function)
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)
    with interrupts_later():
        process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _run_as_worker(function: Callable[..., object], *arguments: object) -> None:
    _start_worker()
    function(*arguments)


def _start_quiet_tracker() -> None:
    """Start Python's resource tracker without its warnings.

    If this process is killed, the tracker removes its semaphores and prints a warning that helps no one.
    """
    if sys.platform != "win32":
        options = sys.warnoptions[:]
        sys.warnoptions.append("ignore:resource_tracker")  # goes to the tracker's command line
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions[:] = options


def _submit(pool: ProcessPoolExecutor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Submit while SIGINT is held back: a worker that this starts inherits that, and leaves Ctrl-C to its parent."""
    with interrupts_later():
        return pool.submit(function, item)


def _start_worker() -> None:
    """Make a worker end with its parent, even if that is killed, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _in_order(
    pool: ProcessPoolExecutor, function: Callable[[Item], Result], head: list[Item], rest: Iterator[Item], limit: int
) -> Iterator[Result]:
    pending: deque[Future[Result]] = deque(_submit(pool, function, item) for item in head)
    for item in rest:
        pending.append(_submit(pool, function, item))
        if len(pending) > limit:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
