"""Requests that wait are aligned together, the cheap ones first; none suffers from another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest

from weft.align.alignment import Alignment
from weft.align.model_folder import shipped_models
from weft.align.windowed import Aligned, EncodedPair, SentencePair, Wanted, WindowedAligner, pass_over
from weft.config import TextConfig
from weft.errors import WeftError
from weft.serve.batching import Answer, Batcher, RequestAligner, TooSlow
from weft.text.subwords import Subwords
from weft.text.words import Sentence

SUBWORDS = Subwords.load(shipped_models()["ro-en"] / "tokenizer.json", TextConfig())
MEAN = Wanted("mean", 0.5, False)


class Held(WindowedAligner):
    """Links the first words of pairs. Waits until it may begin, and notes the sizes of its windows."""

    def __init__(self) -> None:
        super().__init__(SUBWORDS, "mean", 0.5, raw=False, reverse=False, ahead=8)
        self.may_begin = threading.Event()
        self.has_begun = threading.Event()
        self.windows: list[tuple[int, float]] = []

    def _align_encoded(self, encoded: Iterable[EncodedPair], wanted: Wanted) -> Iterator[Aligned]:
        window = list(encoded)
        self.windows.append((len(window), wanted.threshold))
        self.has_begun.set()
        self.may_begin.wait(20)
        if any(len(pair.source.ids) == 7 for pair in window):
            raise WeftError("no pair of seven")
        yield from (Aligned(pair, {(0, 0): 1.0}, 0.5) for pair in window)


@pytest.fixture
def aligner() -> Held:
    return Held()


@pytest.fixture
def batcher(aligner: Held) -> Iterator[Batcher]:
    sizes: list[int] = []
    with closing(Batcher(aligner, 4, sizes.append)) as batcher:
        yield batcher
        aligner.may_begin.set()
    assert sum(sizes) >= sum(size for size, _ in aligner.windows)


def pairs(*lengths: int) -> list[SentencePair]:
    """Pairs of so many words on both sides."""
    return [(Sentence(" ".join("a" * length)), Sentence(" ".join("a" * length))) for length in lengths]


async def links(future: asyncio.Future[list[Answer]]) -> list[str]:
    return [str(answer.alignment) for answer in await asyncio.wait_for(future, 20)]


async def begin(aligner: Held, batcher: Batcher) -> asyncio.Future[list[Answer]]:
    """Put a pair into the queue, and wait until it is being aligned."""
    first = batcher.put(pairs(1), MEAN)
    assert await asyncio.to_thread(aligner.has_begun.wait, 20)
    return first


def test_what_waits_goes_together_and_the_cheap_first(aligner: Held, batcher: Batcher) -> None:
    async def run() -> None:
        first = await begin(aligner, batcher)
        waiting = [batcher.put(pairs(*[length] * 2), MEAN) for length in (30, 3, 1, 2)]
        other = batcher.put(pairs(3), MEAN._replace(threshold=0.9))
        aligner.may_begin.set()
        for future, size in zip([first, *waiting, other], (1, 2, 2, 2, 2, 1), strict=True):
            assert await links(future) == ["0-0"] * size

    asyncio.run(run())
    assert aligner.windows == [(1, 0.5), (4, 0.5), (1, 0.9), (4, 0.5)]


def streamed(
    batcher: Batcher, pairs: list[SentencePair], seconds: float = 20, reverse: bool = False
) -> list[Alignment]:
    """Align the pairs of a request in a thread."""

    async def run() -> list[Alignment]:
        request = RequestAligner(batcher, seconds, reverse)
        return await asyncio.to_thread(lambda: list(request.stream(pairs, pass_over)))

    return asyncio.run(run())


def answered(batcher: Batcher, pairs: list[SentencePair], seconds: float = 20) -> list[Answer]:
    async def run() -> list[Answer]:
        return [answer async for answer in RequestAligner(batcher, seconds).answers(pairs, MEAN)]

    return asyncio.run(run())


def test_a_request_goes_in_parts(aligner: Held, batcher: Batcher) -> None:
    aligner.may_begin.set()
    assert len(streamed(batcher, pairs(*[1] * 10))) == 10
    assert aligner.windows == [(4, 0.5), (4, 0.5), (2, 0.5)]
    assert len(answered(batcher, pairs(900, 900))) == 2  # too much for one part
    assert aligner.windows[3:] == [(1, 0.5), (1, 0.5)]
    assert streamed(batcher, []) == answered(batcher, []) == []


def test_links_are_turned_for_reversed_text(aligner: Held, batcher: Batcher) -> None:
    aligner.may_begin.set()
    source, target = Sentence("a b"), Sentence("c")
    (found,) = streamed(batcher, [(source, target)], reverse=True)
    assert found.source is source and found.target is target and str(found) == "0-0"


def test_problems_have_their_places(aligner: Held, batcher: Batcher) -> None:
    aligner.may_begin.set()
    wordless = (Sentence("\u200b " * 2_000 + "a"), Sentence("a"))
    lengthy = (Sentence("x" * 4_000), Sentence("a"))
    answers = answered(batcher, [*pairs(1), wordless, lengthy, *pairs(1)])
    assert [str(answer.alignment) for answer in answers] == ["0-0", "", "", "0-0"]
    assert answers[0].problem is answers[3].problem is None
    assert "words" in str(answers[1].problem) and "pieces" in str(answers[2].problem)


def test_a_request_that_waits_too_long_is_not_aligned_any_more(aligner: Held, batcher: Batcher) -> None:
    asyncio.run(begin(aligner, batcher))  # whose loop is closed before the answer comes
    for ask in (streamed, answered):
        with pytest.raises(TooSlow, match=r"within 0\.1 s"):
            ask(batcher, pairs(2), seconds=0.1)
    aligner.may_begin.set()
    answered(batcher, pairs(1))
    assert len(aligner.windows) == 2


def test_a_failure_is_that_of_one_request_alone(aligner: Held, batcher: Batcher) -> None:
    async def run() -> None:
        await begin(aligner, batcher)
        good, bad, other = (batcher.put(pairs(length), MEAN) for length in (1, 7, 3))
        aligner.may_begin.set()
        assert await links(good) == await links(other) == ["0-0"]
        with pytest.raises(WeftError, match="no pair of seven"):
            await links(bad)

    asyncio.run(run())


def test_the_end_comes_after_what_waits(aligner: Held) -> None:
    async def run() -> None:
        batcher = Batcher(aligner, 4, lambda size: None)
        waiting = [batcher.put(pairs(length), MEAN) for length in (1, 900, 2)]
        aligner.may_begin.set()
        await asyncio.to_thread(batcher.close)
        assert [await links(future) for future in waiting] == [["0-0"]] * 3

    asyncio.run(run())
