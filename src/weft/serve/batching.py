"""Align the sentence pairs of many requests together: those that wait while others are aligned go next, as one batch.

A pair has the same links in a batch as alone. A request puts its pairs into the queue in parts, and cheap parts go
first, so that a request of one sentence never waits for those of thousands.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from weft.align.alignment import Alignment
from weft.align.windowed import OnLong, SentencePair, Wanted, WindowedAligner, describe_too_long
from weft.config import MOST_PIECES
from weft.errors import WeftError
from weft.text.words import Sentence

_PART_COST = 16_000  # of a part of a request, unless it is a single pair
_BATCH_COST = 32_000  # after which no more parts are taken into a batch: some tenths of a second
_SQUARE = 1_000  # characters of a pair whose cells cost as much as its words
_END = (1 << 62,)  # costs more than all parts, so it is taken after them


class TooSlow(WeftError):
    """A request could not be answered in time."""


class Answer(NamedTuple):
    """The alignment of a pair, or one without links and why."""

    alignment: Alignment
    problem: str | None


class _Part(NamedTuple):
    """Pairs of a request that wait. Those that cost less come first."""

    cost: int
    number: int  # in the order of arrival
    pairs: list[SentencePair]
    wanted: Wanted
    answers: asyncio.Future[list[Answer]]


_Answered = tuple[asyncio.Future[list[Answer]], list[Answer] | Exception]


class Batcher:
    """An aligner and the thread that aligns what waits for it."""

    def __init__(self, aligner: WindowedAligner, most_pairs: int, on_batch: Callable[[int], object]) -> None:
        """Start the thread. ``most_pairs``: of a batch. ``on_batch`` is called with the number of pairs of each."""
        self.aligner, self.most_pairs = aligner, most_pairs
        self._on_batch = on_batch
        self._waiting: queue.PriorityQueue[_Part | tuple[int]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
        self._thread.start()

    def put(self, pairs: list[SentencePair], wanted: Wanted) -> asyncio.Future[list[Answer]]:
        """Put pairs into the queue. The running event loop's future that is returned will have their answers."""
        answers: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.put(_Part(sum(map(_cost, pairs)), next(self._numbers), pairs, wanted, answers))
        return answers

    def close(self) -> None:
        """Answer everything that waits, then end the thread. Nothing may be put into the queue afterwards."""
        self._waiting.put(_END)
        self._thread.join()

    def _work(self) -> None:
        while parts := self._take():
            together = defaultdict(list)
            for part in parts:
                if not part.answers.cancelled():
                    together[part.wanted].append(part)
            for wanted, same in together.items():
                _hand_over(self._answered(same, wanted))

    def _take(self) -> list[_Part]:
        """Wait for parts and return as many as make a batch; none at the end."""
        parts, pairs, cost = [], 0, 0
        part = self._waiting.get()
        while isinstance(part, _Part):
            parts.append(part)
            pairs, cost = pairs + len(part.pairs), cost + part.cost
            if pairs >= self.most_pairs or cost >= _BATCH_COST:
                return parts
            try:
                part = self._waiting.get_nowait()
            except queue.Empty:
                return parts
        if parts:
            self._waiting.put(_END)  # it comes after these
        return parts

    def _answered(self, parts: list[_Part], wanted: Wanted) -> list[_Answered]:
        """Align parts in one go; if that fails, each alone, so that none suffers from another."""
        try:
            answers = iter(self._align([pair for part in parts for pair in part.pairs], wanted))
            return [(part.answers, list(itertools.islice(answers, len(part.pairs)))) for part in parts]
        except Exception as error:
            if len(parts) == 1:
                return [(parts[0].answers, error)]
            return [one for part in parts for one in self._answered([part], wanted)]

    def _align(self, pairs: list[SentencePair], wanted: Wanted) -> list[Answer]:
        problems: dict[int, str] = {}

        def on_long(index: int, pieces: int) -> None:
            problems[index] = describe_too_long(pieces)

        self._on_batch(len(pairs))
        merge, threshold, matrices = wanted
        found = self.aligner.stream(pairs, on_long, len(pairs), matrices, merge, threshold)
        return [Answer(alignment, problems.get(index)) for index, alignment in enumerate(found)]


def _hand_over(answered: list[_Answered]) -> None:
    """Give futures their results, all those of an event loop at once.

    Each time it is woken, the loop takes the interpreter, and the next batch would have to wait.
    """
    by_loop = defaultdict(list)
    for future, result in answered:
        by_loop[future.get_loop()].append((future, result))
    for loop, own in by_loop.items():
        with suppress(RuntimeError):  # it is closed: nobody waits any more
            loop.call_soon_threadsafe(_set_results, own)


def _set_results(answered: list[_Answered]) -> None:
    for future, result in answered:
        if future.done():  # cancelled
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)


class RequestAligner:
    """Aligns the pairs of one request, together with those of others. It belongs to the event loop that makes it."""

    def __init__(self, batcher: Batcher, seconds: float, reverse: bool = False) -> None:
        """``seconds``: how long the request may take from now on."""
        self._batcher, self._reverse, self._seconds = batcher, reverse, seconds
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds

    async def answers(self, pairs: Iterable[SentencePair], wanted: Wanted) -> AsyncIterator[Answer]:
        """Yield an answer for each pair, in order. Raises TooSlow."""
        for part in self._parts(pairs):
            for answer in await self._answers_of(part, wanted):
                yield answer

    def stream(
        self, pairs: Iterable[SentencePair], on_long: OnLong, ahead: int = 0, matrices: bool = False
    ) -> Iterator[Alignment]:
        """Align as an aligner does, for a thread that may wait. Raises TooSlow.

        Pairs that are too long have no links; ``on_long`` is not called.
        """
        own = self._batcher.aligner
        wanted = Wanted(own.merge, own.threshold, matrices)
        for part in self._parts(pairs):
            answers = asyncio.run_coroutine_threadsafe(self._answers_of(part, wanted), self._loop).result()
            yield from (answer.alignment for answer in answers)

    async def _answers_of(self, part: list[SentencePair], wanted: Wanted) -> list[Answer]:
        try:
            async with asyncio.timeout_at(self._end):
                found = await self._batcher.put([self._turned(pair) for pair in part], wanted)
        except TimeoutError:
            raise TooSlow(
                f"not answered within {self._seconds:g} s; send fewer pairs at a time, or try again later"
            ) from None
        return [self._as_asked(pair, answer) for pair, answer in zip(part, found, strict=True)]

    def _as_asked(self, pair: SentencePair, answer: Answer) -> Answer:
        """Return the answer for a pair, given that for ``_turned``."""
        if _has_too_many_words(pair):
            return Answer(Alignment(*pair), f"a sentence of more than {MOST_PIECES:,} words; split it")
        return Answer(answer.alignment.reversed(), answer.problem) if self._reverse else answer

    def _turned(self, pair: SentencePair) -> SentencePair:
        """Return a pair with the model's source language first, or an empty one if it has too many words."""
        source, target = (Sentence(""), Sentence("")) if _has_too_many_words(pair) else pair
        return (target, source) if self._reverse else (source, target)

    def _parts(self, pairs: Iterable[SentencePair]) -> Iterator[list[SentencePair]]:
        """Yield pairs in parts that are small enough for one batch."""
        part: list[SentencePair] = []
        cost = 0
        for pair in pairs:
            if part and (len(part) == self._batcher.most_pairs or cost + _cost(pair) > _PART_COST):
                yield part
                part, cost = [], 0
            part.append(pair)
            cost += _cost(pair)
        if part:
            yield part


def _cost(pair: SentencePair) -> int:
    """Return about how much it takes to align a pair, in units of a character of a short pair."""
    characters = sum(len(side.text) for side in pair)
    return characters + characters * characters // _SQUARE


def _has_too_many_words(pair: SentencePair) -> bool:
    """Tell whether the matrix of a pair would be too large. Words without pieces count, too."""
    return max(map(len, pair)) > MOST_PIECES
