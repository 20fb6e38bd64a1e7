"""The small aligner: a stream of sentence pairs in, an alignment for each out, in order. No torch.

Its encoders read each sentence on its own. Then the states of both sides are compared: attention of each piece to those
of the other side, in both directions. Links are the cells where the mean of both is high.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple, Self

import numpy as np
import onnxruntime

from weft.align.model_folder import open_model, read_aligner, table_names
from weft.align.onnx_graph import COMPARE, SIDES, scorer_graphs
from weft.align.windowed import LINK_CELLS, Aligned, EncodedPair, Wanted, WindowedAligner, answers, batch_attention
from weft.config import Merge
from weft.errors import WeftError
from weft.text.subwords import END
from weft.workers import available_cores

_AHEAD = 8_192  # pairs that are read ahead and sorted by shape
_CHUNK_NUMBERS = 1 << 20  # in the states of pairs that are encoded before they are compared: 4 MB
_BATCH_PIECES = 1_024
_LONG = 256  # pieces of a sentence whose memory is given back: its attention takes tens of megabytes
_STEP = 8  # sentences are padded to a multiple of this to compare them
_SILENT = 4  # of onnxruntime's levels of logging: what fails is raised as well


class States(NamedTuple):
    """The states of the sentences of pairs."""

    values: np.ndarray  # (pieces, width)
    starts: np.ndarray  # (side, pair): which of them is the first of a sentence
    lengths: np.ndarray  # (side, pair): how many are the sentence's, with that of end-of-sentence

    def batches(self) -> Iterator[list[int]]:
        """Yield the numbers of pairs to compare together.

        Their sides have the same lengths if padded, which depend on nothing but the pair: so a pair is always computed
        in the same way.
        """
        by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (source, target) in enumerate(_padded(self.lengths).T.tolist()):
            by_shape[source, target].append(number)
        for shape, numbers in by_shape.items():
            yield from _parts(numbers, max(shape))

    def groups(self) -> Iterator[list[list[int]]]:
        """Yield batches in groups: links are made faster of many pairs at once, if they are of similar length."""
        group: list[list[int]] = []
        for batch in sorted(self.batches(), key=lambda batch: self.lengths[1, batch[0]]):
            both = [*group, batch]
            longest = _padded(self.lengths[:, [one[0] for one in both]]).max(1)
            if group and sum(map(len, both)) * longest.prod() > LINK_CELLS:
                yield group
                group = []
            group.append(batch)
        if group:
            yield group

    def rows(self, side: int, batch: list[int]) -> np.ndarray:
        """Return which states are those of each pair, padded with −1. (batch, length)"""
        lengths = self.lengths[side, batch]
        places = np.arange(_padded(lengths).max())
        return np.where(places < lengths[:, None], self.starts[side, batch][:, None] + places, -1)


Ids = np.ndarray | Sequence[int]
"""The pieces of a sentence."""


class Sessions:
    """The graphs of a small aligner, ready to run in one thread."""

    def __init__(self, graphs: Mapping[str, bytes], tables: Mapping[str, np.ndarray]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = _SILENT
        options.enable_mem_pattern = False  # or it would keep one for each of hundreds of shapes
        self._sessions = {  # without fallback: before that, onnxruntime prints to stdout
            name: onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"], enable_fallback=0)
            for name, graph in graphs.items()
        }
        self._giving_back = onnxruntime.RunOptions()
        self._giving_back.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        self._tables = tables
        self._width = self._sessions[COMPARE].get_inputs()[0].shape[1]  # of states

    def encode(self, pairs: Sequence[tuple[Ids, Ids]]) -> States:
        """Encode the ids of the sentences of pairs, those of one length together."""
        encoders = [name for name in self._sessions if name != COMPARE]  # one, or one for each side
        sentences = [(encoders[0], source) for source, _ in pairs] + [(encoders[-1], target) for _, target in pairs]
        by_length: dict[tuple[str, int], list[int]] = defaultdict(list)
        for number, (encoder, ids) in enumerate(sentences):
            by_length[encoder, len(ids) + 1].append(number)
        lengths = np.array([len(ids) + 1 for _, ids in sentences])
        values = np.empty((lengths.sum(), self._width), np.float32)
        starts, place = np.zeros_like(lengths), 0
        for (encoder, length), numbers in by_length.items():
            tables = {name: self._tables[name] for name in table_names(encoder)}
            options = self._giving_back if length > _LONG else None
            for part in _parts(numbers, length):
                ids = np.full((len(part), length), END, np.int64)
                ids[:, :-1] = [sentences[number][1] for number in part]
                (states,) = self._sessions[encoder].run(None, {"ids": ids, **tables}, options)
                values[place : place + ids.size] = np.asarray(states).reshape(ids.size, -1)
                starts[part] = np.arange(place, place + ids.size, length)
                place += ids.size
        return States(values, starts.reshape(2, -1), lengths.reshape(2, -1))

    def attention(self, states: States) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Yield numbers of pairs and the attention of both directions, each (pairs, target, source)."""
        for batches in states.groups():
            forward, backward = zip(*(self.compare(states, batch) for batch in batches), strict=True)
            yield list(itertools.chain.from_iterable(batches)), _stacked(forward), _stacked(backward)

    def compare(self, states: States, batch: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the attention of both directions for some of the pairs. (batch, target, source)"""
        rows = {side: states.rows(number, batch) for number, side in enumerate(SIDES)}
        forward, backward = self._sessions[COMPARE].run(None, {"states": states.values, **rows})
        return np.asarray(forward), np.asarray(backward)


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
        exact: bool = False,
    ) -> None:
        """Load a shipped aligner by its name, such as ro-en, or the one in a model folder.

        Args:
            model: The name or the folder; without one, ``multi``, the aligner for all languages.
            cores: How many cores to use; 0 for all.
            raw: Text is not split into words yet. Otherwise words stand between spaces.
            reverse: Pairs have the model's target language first; so have the alignments.
            merge: How links are made of both directions, or which of them is used alone.
            threshold: The probability that a link needs with the merge ``mean``; beside another link, three fifths of
                it. The default is the model's own.
            fast: Use the narrow encoders, which are faster and less accurate; not every aligner has them.
            exact: Find the same links on every kind of processor, which are also those of the page, in twice the time.
                Otherwise the last bits of sums depend on the processor, and in one of a hundred pairs a link or two.
        """
        if cores < 0:
            raise WeftError(f"cores is a number of cores, or 0 for all, not {cores}")
        opened = open_model(model)
        self._arguments = {
            "model": opened.path, "cores": cores, "raw": raw, "reverse": reverse, "merge": merge,
            "threshold": threshold, "fast": fast, "exact": exact,
        }  # fmt: skip
        content = read_aligner(opened, fast)
        threshold = content.config.threshold if threshold is None else threshold
        super().__init__(content.subwords, merge, threshold, raw, reverse, _AHEAD)
        self._folder, self._tables = opened.path, content.tables()
        self._graphs = scorer_graphs(content, fast, exact)
        self._chunk_pieces = _CHUNK_NUMBERS // content.encoders(fast)[1].width
        self._cores = cores or available_cores()
        self._start()

    def _start(self) -> None:
        """Make threads and sessions, in this process."""
        self._process = os.getpid()
        # Sessions of its own for each thread: faster than sharing them or splitting a batch.
        self._workers: ThreadPoolExecutor | None = ThreadPoolExecutor(self._cores)
        self._ready = [self._open_sessions()]  # for the thread that comes first
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

    def _open_sessions(self) -> Sessions:
        with self._failures():
            return Sessions(self._graphs, self._tables)

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

    def _sessions(self) -> Sessions:
        """Return the calling thread's sessions, opened on first use."""
        own = self._own  # another thread may start anew after a fork
        if not hasattr(own, "sessions"):
            try:
                own.sessions = self._ready.pop()
            except IndexError:
                own.sessions = self._open_sessions()
        return own.sessions

    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterator[Aligned]:
        if self._workers is None:
            raise WeftError("this aligner is closed; load it again")
        if self._process != os.getpid():  # a fork has copied this aligner, but not its threads
            self._start()
        chunks = _chunks(encoded, self._cores, self._chunk_pieces)
        with self._failures():  # for want of memory there may be no thread
            results = self._workers.map(functools.partial(self._align_chunk, wanted), chunks)
        for aligned in results:
            yield from aligned

    def _align_chunk(self, wanted: Wanted, pairs: list[EncodedPair]) -> list[Aligned]:
        sessions, aligned = self._sessions(), []
        with self._failures():
            states = sessions.encode([(pair.source.ids, pair.target.ids) for pair in pairs])
            attention = list(sessions.attention(states))
        for numbers, forward, backward in attention:
            found = [pairs[number] for number in numbers]
            aligned += answers(found, batch_attention(found, forward, backward), wanted)
        return aligned


load = Aligner
"""``weft.load()`` reads better."""


def _chunks(encoded: Iterable[EncodedPair], cores: int, most: int) -> list[list[EncodedPair]]:
    """Return pairs of similar length in chunks of about ``most`` pieces, at least one chunk for each core."""
    pairs = sorted(encoded, key=lambda pair: (len(pair.source.ids), len(pair.target.ids)))
    ends = list(itertools.accumulate(len(pair.source.ids) + len(pair.target.ids) for pair in pairs))
    size = max(1, min(most, ends[-1] // cores + 1)) if ends else 1
    numbered = itertools.groupby(zip(ends, pairs, strict=True), lambda one: one[0] // size)
    return [[pair for _, pair in chunk] for _, chunk in numbered]


def _padded(lengths: np.ndarray) -> np.ndarray:
    return -(-lengths // _STEP) * _STEP


def _stacked(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Return matrices of several batches, each (batch, target, source), in one array, padded with zeros."""
    shapes = np.array([one.shape for one in matrices])
    stacked, first = np.zeros((shapes[:, 0].sum(), *shapes[:, 1:].max(0)), np.float32), 0
    for one in matrices:
        stacked[first : first + len(one), : one.shape[1], : one.shape[2]] = one
        first += len(one)
    return stacked


def _parts(numbers: list[int], length: int) -> Iterator[list[int]]:
    """Yield parts as large as the budget of pieces allows, if each number stands for so many."""
    size = max(1, _BATCH_PIECES // length)
    return (numbers[first : first + size] for first in range(0, len(numbers), size))
