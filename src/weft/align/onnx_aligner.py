"""The small aligner: a stream of sentence pairs in, an alignment for each out, in order. No torch.

For a batch of sentence pairs its graph computes the attention of each piece to those of the other side, in both
directions; links are the cells where the mean of both is high.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

import numpy as np
import onnxruntime

from weft.align.attention_to_links import BatchAttention
from weft.align.model_folder import open_model, read_aligner
from weft.align.onnx_graph import scorer_graph
from weft.align.windowed import Aligned, EncodedPair, WindowedAligner
from weft.config import Merge
from weft.errors import WeftError
from weft.text.subwords import END, PAD
from weft.workers import available_cores

_AHEAD = 8_192  # pairs that are read ahead and sorted by shape
_BATCH_TOKENS = 2_048
_STEP = 8  # sentences are padded to a multiple of this
_SILENT = 4  # of onnxruntime's levels of logging: what fails is raised as well


class Aligner(WindowedAligner):
    """A small aligner, ready to align. It may be shared by threads, pickled, and used after a fork."""

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        cores: int = 0,
        raw: bool = False,
        reverse: bool = False,
        merge: Merge = "mean",
        threshold: float | None = None,
        fast: bool = False,
    ) -> None:
        """Load a shipped aligner by its name, such as de-en, or the one in a model folder.

        Args:
            model: The name or the folder; without one, the aligner for all languages, if weft has it.
            cores: How many cores to use; 0 for all.
            raw: Text is not split into words yet. Otherwise words stand between spaces.
            reverse: Pairs have the model's target language first; so have the alignments.
            merge: How links are made of both directions, or which of them is used alone.
            threshold: The probability that a link needs with the merge ``mean``; the default is the model's own.
            fast: Use the narrow encoders, which are faster and less accurate; not every aligner has them.
        """
        if cores < 0:
            raise WeftError(f"cores is a number of cores, or 0 for all, not {cores}")
        opened = open_model(model)
        self._arguments = {
            "model": opened.path, "cores": cores, "raw": raw, "reverse": reverse, "merge": merge,
            "threshold": threshold, "fast": fast,
        }  # fmt: skip
        content = read_aligner(opened, fast)
        threshold = content.config.threshold if threshold is None else threshold
        super().__init__(content.subwords, merge, threshold, raw, reverse, _AHEAD)
        self._folder, self._tables = opened.path, content.tables()
        self._graph = scorer_graph(content, fast)
        self._cores = cores or available_cores()
        self._start()

    def _start(self) -> None:
        """Make threads and a session, in this process."""
        self._process = os.getpid()
        # One session per thread, one batch per thread: faster than sharing a session or splitting a batch.
        self._workers: ThreadPoolExecutor | None = ThreadPoolExecutor(self._cores)
        self._ready = [self._open_session()]  # for the thread that comes first
        self._own = threading.local()

    def __reduce__(self) -> tuple[Callable[..., Aligner], tuple[()]]:
        """Pickle as the arguments: the model is loaded again."""
        return functools.partial(Aligner, **self._arguments), ()

    def close(self) -> None:
        """End the threads. The aligner cannot be used afterwards."""
        if self._workers is not None and self._process == os.getpid():
            self._workers.shutdown(cancel_futures=True)
        self._workers = None
        self._ready.clear()
        self._own = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open_session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = _SILENT
        with self._failures():  # without fallback: before that, onnxruntime prints to stdout
            return onnxruntime.InferenceSession(
                self._graph, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn failures to compute into WeftError; onnxruntime raises many kinds of them."""
        try:
            yield
        except Exception as error:
            problem = str(error).partition("\n")[0]
            if isinstance(error, MemoryError) or "bad_alloc" in problem or "allocate memory" in problem:
                problem = "not enough memory"
            raise WeftError(f"{self._folder}: cannot be computed: {problem}") from None

    def _session(self) -> onnxruntime.InferenceSession:
        """Return the calling thread's session, opened on first use."""
        own = self._own  # another thread may start anew after a fork
        if not hasattr(own, "session"):
            try:
                own.session = self._ready.pop()
            except IndexError:
                own.session = self._open_session()
        return own.session

    def _align_encoded(self, encoded: Iterable[EncodedPair]) -> Iterator[Aligned]:
        if self._workers is None:
            raise WeftError("this aligner is closed; load it again")
        if self._process != os.getpid():  # a fork has copied this aligner, but not its threads
            self._start()
        batches = list(_batches(encoded))
        with self._failures():  # for want of memory there may be no thread
            results = self._workers.map(self._align_batch, batches)
        for aligned in results:
            yield from aligned

    def _align_batch(self, batch: list[EncodedPair]) -> list[Aligned]:
        source_length, target_length = _shape(batch[0])
        ids = {
            "source": _rows([pair.source.ids for pair in batch], source_length),
            "target": _rows([pair.target.ids for pair in batch], target_length),
        }
        session = self._session()
        with self._failures():
            forward, backward = map(np.asarray, session.run(None, {**self._tables, **ids}))
        attention = BatchAttention.of(
            forward, backward, [pair.source.words for pair in batch], [pair.target.words for pair in batch]
        )
        links, scores = attention.links(self.merge, self.threshold), attention.scores()
        return [Aligned(*found) for found in zip(batch, links, scores, strict=True)]


load = Aligner
"""``weft.load("de-en")`` reads better."""


def _shape(pair: EncodedPair) -> tuple[int, int]:
    """Return the padded lengths of a pair's sides, end-of-sentence included. They depend on nothing but the pair.

    Pairs share a batch only if they have the same shape, so a pair is always computed in the same way.
    """
    source, target = (-(-(len(side.ids) + 1) // _STEP) * _STEP for side in (pair.source, pair.target))
    return source, target


def _batches(encoded: Iterable[EncodedPair]) -> Iterator[list[EncodedPair]]:
    """Yield batches of pairs of one shape, as large as the budget of tokens allows."""
    by_shape: dict[tuple[int, int], list[EncodedPair]] = defaultdict(list)
    for pair in encoded:
        by_shape[_shape(pair)].append(pair)
    for shape, pairs in by_shape.items():
        size = max(1, _BATCH_TOKENS // max(shape))
        for first in range(0, len(pairs), size):
            yield pairs[first : first + size]


def _rows(sentences: list[list[int]], length: int) -> np.ndarray:
    """Return ids, each sentence with its end, padded. (batch, length)"""
    rows = np.full((len(sentences), length), PAD, np.int64)
    for row, ids in enumerate(sentences):
        rows[row, : len(ids)] = ids
        rows[row, len(ids)] = END
    return rows
