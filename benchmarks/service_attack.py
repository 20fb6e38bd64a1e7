"""Hostile requests to ``weft serve``, slow, oversized, malformed and many, while good ones want to be answered.

    python benchmarks/service_attack.py --requests 1000

All hostile requests come at the same time, each by a connection of its own. Good clients ask one request after the
other, each by a new connection, until the last of the others is over. Prints what became of the hostile requests, and
how long the good ones took.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import socket
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service_load import Client, Running, head_of, service

GOOD = json.dumps({"pairs": [{"source": "Das alte Haus .", "target": "The old house ."}], "format": "pharaoh"}).encode()
LONG = json.dumps({"pairs": [{"source": "a b c d e " * 150, "target": "a b c d e " * 150}] * 100}).encode()
MALFORMED = [
    b"",
    b"{",
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"pairs": [{"source": "\\ud800", "target": 1e999}]}',
    b'{"pairs": [NaN], "threshold": Infinity}',
    b'{"pairs": ' + b"9" * 10_000 + b"}",
    b'{"__proto__": {}, "pairs": null}',
]
SETTLED = 15  # seconds after which the service has given free memory back
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _answer(reader: asyncio.StreamReader) -> str:
    """Return the status of the answer, or "closed"."""
    line = await reader.readline()
    return line.split()[1].decode() if line.startswith(b"HTTP/1.1 ") else "closed"


async def _drip(streams: Streams, text: bytes) -> str:
    """Send a byte now and then, until there is an answer."""
    reader, writer = streams
    answer = asyncio.ensure_future(_answer(reader))
    for byte in text:
        writer.write(bytes([byte]))
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(answer), 0.5)
    return await answer


async def silent(streams: Streams, number: int) -> str:
    """Connect, and send nothing."""
    return await _answer(streams[0])


async def slow_head(streams: Streams, number: int) -> str:
    """Send a head byte by byte."""
    return await _drip(streams, b"POST /align HTTP/1.1\r\nhost: x\r\nx-slow: " + b"a" * 1_000)


async def slow_body(streams: Streams, number: int) -> str:
    """Send a body byte by byte."""
    streams[1].write(head_of("/align", 100_000))
    return await _drip(streams, b" " * 1_000)


async def oversized_head(streams: Streams, number: int) -> str:
    """Send a header of a megabyte."""
    streams[1].write(b"POST /align HTTP/1.1\r\nx-large: " + b"a" * 1_000_000 + b"\r\n\r\n")
    return await _answer(streams[0])


async def oversized_body(streams: Streams, number: int) -> str:
    """Send a body that is too large."""
    streams[1].write(head_of("/align", 3_000_000) + b" " * 3_000_000)
    return await _answer(streams[0])


async def endless_body(streams: Streams, number: int) -> str:
    """Send a body in chunks that never ends."""
    reader, writer = streams
    writer.write(b"POST /align HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
    answer = asyncio.ensure_future(_answer(reader))
    with contextlib.suppress(ConnectionError):
        while not answer.done():
            writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            await asyncio.wait([answer], timeout=0.01)
            await writer.drain()
    return await answer


async def malformed_http(streams: Streams, number: int) -> str:
    """Send what is no HTTP."""
    streams[1].write(bytes(range(256)) * 4 + b"\r\n\r\n")
    return await _answer(streams[0])


async def malformed_json(streams: Streams, number: int) -> str:
    """Send a body that is no request."""
    body = MALFORMED[number % len(MALFORMED)]
    streams[1].write(head_of(("/align", "/transfer", "/project")[number % 3], len(body)) + body)
    return await _answer(streams[0])


async def largest(streams: Streams, number: int) -> str:
    """Ask for as much as is allowed."""
    streams[1].write(head_of("/align", len(LONG)) + LONG)
    return await _answer(streams[0])


async def gone(streams: Streams, number: int) -> str:
    """Ask for much, and go away without an answer."""
    streams[1].write(head_of("/transfer", len(LONG)) + LONG)
    await asyncio.sleep(0.2)
    streams[1].transport.abort()
    return "went away"


async def deaf(streams: Streams, number: int) -> str:
    """Ask for large answers one after the other, and read none of them, until the connection is closed."""
    _, writer = streams
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    pair = {"source": "a " * 900, "target": "b"}
    body = json.dumps({"pairs": [pair] * 100, "fast": True}).encode()
    with contextlib.suppress(ConnectionError, TimeoutError):
        for _ in range(20):
            writer.write(head_of("/align", len(body)) + body)
            await asyncio.wait_for(writer.drain(), 60)
            await asyncio.sleep(1)
    return "closed" if writer.is_closing() else "went away"


KINDS: list[Callable[[Streams, int], Awaitable[str]]] = [
    silent, slow_head, slow_body, oversized_head, oversized_body, endless_body,
    malformed_http, malformed_json, largest, gone, deaf,
]  # fmt: skip


@dataclass
class Outcome:
    """What became of the requests."""

    hostile: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By kind and answer."""
    good: list[float] = field(default_factory=list)
    """Seconds until each good request was answered, with the waiting that the service asked for."""
    wrong: list[str] = field(default_factory=list)
    """Answers to good requests that were not right."""


async def attack(port: int, requests: int, good_clients: int) -> Outcome:
    """Send hostile requests, all at the same time, and good ones as long as they last."""
    outcome = Outcome()
    is_over = asyncio.Event()

    async def hostile(number: int) -> None:
        kind = KINDS[number % len(KINDS)]
        try:
            streams = await asyncio.open_connection("127.0.0.1", port)
            try:
                answer = await kind(streams, number)
            finally:
                streams[1].transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError):
            answer = "closed"
        outcome.hostile[kind.__name__, answer] += 1

    async def good() -> None:
        while not is_over.is_set():
            began = time.perf_counter()
            while (answer := await _ask(port)).startswith("429"):
                await asyncio.sleep(1)
            outcome.good.append(time.perf_counter() - began)
            if '"line":"0-0 1-1 2-2 3-3"' not in answer:
                outcome.wrong.append(answer)
            await asyncio.sleep(0.05)

    clients = [asyncio.create_task(good()) for _ in range(good_clients)]
    await asyncio.gather(*map(hostile, range(requests)))
    is_over.set()
    await asyncio.gather(*clients)
    return outcome


async def _ask(port: int) -> str:
    """Return status and body of the answer to a good request, or what went wrong."""
    client = Client(port)
    try:
        status, body = await client.post("/align", GOOD)
        return f"{status} {body.decode()}"
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        return f"no answer: {error!r}"
    finally:
        client.close()


def report(outcome: Outcome, running: Running, before: float) -> None:
    """Print what became of the requests."""
    for (kind, answer), count in sorted(outcome.hostile.items()):
        print(f"{kind:<16} {answer:<10} {count:6}")
    median, worst = statistics.median(outcome.good), max(outcome.good)
    print(
        f"good: {len(outcome.good)} answered, {len(outcome.wrong)} of them wrong; {median:.2f} s, at most {worst:.2f} s"
    )
    for answer, count in Counter(outcome.wrong).items():
        print(f"wrong: {answer[:200]} ({count})")
    after = running.megabytes()
    time.sleep(SETTLED)
    print(f"memory: {before:.0f} MB before, {after:.0f} MB after, {running.megabytes():.0f} MB {SETTLED} s later")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--good-clients", type=int, default=4)
    options = parser.parse_args()
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(most, 4 * options.requests)), hard))
    with service() as running:
        before = running.megabytes()
        outcome = asyncio.run(attack(running.port, options.requests, options.good_clients))
        report(outcome, running, before)
    print(f"the service ended with {running.process.returncode}; load of the machine {os.getloadavg()[1]:.0f}")


if __name__ == "__main__":
    main()
