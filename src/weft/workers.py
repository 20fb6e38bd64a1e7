"""Work on blocks in several processes and take the results in order, with a bounded number of blocks in flight."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from weft.errors import WeftError

Item = TypeVar("Item")
Result = TypeVar("Result")


def processes() -> int:
    """As many worker processes as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """``map(function, items)`` over worker processes. ``function`` must be picklable.

    One worker means no processes at all, and each result before the next item is read. A single item is no work for
    others either: small corpora should not wait for workers to start.
    """
    if workers == 1:
        yield from map(function, items)
        return
    iterator = iter(items)
    head = [item for _, item in zip(range(2), iterator, strict=False)]
    if len(head) < 2:
        yield from map(function, head)
        return
    others = multiprocessing.active_children()
    # spawn: workers start clean, whatever threads and locks the parent has
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker) as pool:
        try:
            yield from _in_order(pool, function, head, iterator, 2 * workers)
        except BaseException as error:  # nobody wants what they are still busy with
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.terminate()
            if isinstance(error, BrokenProcessPool):
                problem = "a worker process was killed, perhaps for want of memory; try again with less"
                raise WeftError(problem) from None
            raise


def _submit(pool: ProcessPoolExecutor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Submit while SIGINT is held back: a worker that this starts inherits that, and leaves Ctrl-C to its parent."""
    with _interrupts_later():
        return pool.submit(function, item)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold SIGINT back until the end of the block.

    Blocking it in this thread is not enough: another one, such as those of numpy's libraries, may receive it, and then
    Python raises KeyboardInterrupt here, in the middle of what the pool does. So its handler only takes a note.
    """
    arrived: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number)) if is_main else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if is_main:
            signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


def _start_worker() -> None:
    """Workers end with their parent, even where it is killed."""
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
