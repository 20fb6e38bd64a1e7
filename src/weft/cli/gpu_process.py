"""One process computes on a GPU for all others, which read text and write links.

A GPU serves one process better than many, and only this one imports torch. The others send it sentences in pieces and
get links back, over connections that need the key of their common parent.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np

from weft.align.batched_aligner import SCORER_TOKENS, BatchedAligner, PackedLinks, PackedPairs
from weft.align.model_folder import ModelFolder, read_aligner
from weft.align.windowed import Wanted, WindowedAligner
from weft.config import Merge
from weft.errors import WeftError
from weft.workers import background_process

Address = str | tuple[str, int]
_AHEAD = 10_000  # pairs that are read ahead and sorted by length
_WAITING = 256  # processes that may wait until the model is loaded
_AT_ONCE = 3  # requests: while the GPU computes one, others are prepared
_ENDED = "the process that computes on the GPU has ended, perhaps for want of memory; try again with less"


class RemoteAligner(BatchedAligner):
    """A small aligner that a `gpu_process` computes."""

    def __init__(
        self, address: Address, model: ModelFolder, merge: Merge, threshold: float | None, raw: bool, reverse: bool
    ) -> None:
        content = read_aligner(model)
        threshold = content.config.threshold if threshold is None else threshold
        super().__init__(content.subwords, merge, threshold, raw, reverse, _AHEAD, SCORER_TOKENS)
        with _connected():
            self._connection = Client(address, authkey=multiprocessing.current_process().authkey)

    def links(self, pairs: PackedPairs, wanted: Wanted) -> PackedLinks:
        return self._answer("links", pairs, wanted)

    def attention(self, pairs: PackedPairs) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        return self._answer("attention", pairs)

    def _answer(self, *request: Any) -> Any:
        with _connected():
            self._connection.send(request)
            answer = self._connection.recv()
        if isinstance(answer, WeftError):
            raise answer
        return answer


@contextlib.contextmanager
def _connected() -> Iterator[None]:
    """Turn the loss of the connection into WeftError."""
    try:
        yield
    except (EOFError, OSError):
        raise WeftError(_ENDED) from None


@contextlib.contextmanager
def gpu_process(load: Callable[[], WindowedAligner]) -> Iterator[Address]:
    """Run a process that computes with the aligner that ``load`` returns, a `BatchedAligner`.

    ``load`` must be picklable. Yields the address for `RemoteAligner`, before the aligner is loaded.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    with background_process(_serve, load, theirs):
        theirs.close()
        with _connected():
            address = ours.recv()
        yield address


def _serve(load: Callable[[], WindowedAligner], parent: Connection) -> None:
    place = f"\0weft-{uuid.uuid4().hex}" if sys.platform == "linux" else None  # of no file, so nothing can be left
    with Listener(place, backlog=_WAITING, authkey=multiprocessing.current_process().authkey) as listener:
        parent.send(listener.address)
        try:
            aligner: WindowedAligner | WeftError = load()
        except Exception as error:
            aligner = _as_answer(error)
        turns = threading.Semaphore(_AT_ONCE)
        while True:
            with contextlib.suppress(multiprocessing.AuthenticationError, EOFError, OSError):
                arguments = listener.accept(), aligner, turns
                threading.Thread(target=_answer_all, args=arguments, daemon=True).start()


def _answer_all(connection: Connection, aligner: WindowedAligner | WeftError, turns: threading.Semaphore) -> None:
    """Answer the requests of a process until it ends."""
    with connection, contextlib.suppress(EOFError, OSError):
        while True:
            kind, *arguments = connection.recv()
            try:
                if isinstance(aligner, WeftError):
                    raise aligner
                with turns:
                    found = getattr(aligner, kind)(*arguments)
                    answer = found if isinstance(found, PackedLinks) else list(found)
            except Exception as error:
                answer = _as_answer(error)
            connection.send(answer)


def _as_answer(error: Exception) -> WeftError:
    """Return what the processes that ask are told of a failure, such as one of the GPU."""
    if isinstance(error, WeftError):
        return error
    problem = str(error).partition("\n")[0]
    return WeftError(f"cannot be computed on the GPU: {problem}; leave out --device cuda")
