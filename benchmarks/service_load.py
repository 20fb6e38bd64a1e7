"""How many requests ``weft serve`` answers: one client, then many at a time, with batches and without.

    python benchmarks/service_load.py tests/ordinary/de-en.tsv --seconds 60

Each request has one sentence pair, unless its row says otherwise. The service runs on this machine and is
reached by loopback; clients share its cores, but take little of them. Prints requests per second, milliseconds of a
request (half of them, and 99 % of them, took no longer), milliseconds of the service's computing time for a pair, and
its memory; then how much batches bring.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


@dataclass
class Running:
    """A service that runs."""

    process: subprocess.Popen[str]
    port: int

    def cpu_seconds(self) -> float:
        """Return the computing time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return the memory that it has now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextlib.contextmanager
def service(*options: str, page: bool = False) -> Iterator[Running]:
    """Start ``weft serve`` on a free port, and end it as an operator would."""
    command = [sys.executable, "-m", "weft", "serve", "--port", "0", *([] if page else ["--no-page"]), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        yield Running(process, int(line.partition("http://127.0.0.1:")[2].split()[0]))
    finally:
        process.terminate()
        process.communicate(timeout=90)


def head_of(path: str, size: int) -> bytes:
    """Return the head of a request with a body of JSON."""
    lines = [f"POST {path} HTTP/1.1", "host: x", "content-type: application/json", f"content-length: {size}", "", ""]
    return "\r\n".join(lines).encode()


class Client:
    """A connection that stays open; as little HTTP as the service needs."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of its answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(head_of(path, len(body)) + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(answer.partition("content-length:")[2].split()[0])
        content = await reader.readexactly(size)
        if "connection: close" in answer:
            self.close()
        return int(answer.split()[1]), content

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass
class Load:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    """Of each request."""
    errors: int = 0

    def percentile(self, share: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[share - 1] * 1_000


def bodies_of(file: str, fast: bool, size: int = 1) -> list[bytes]:
    """Return requests of so many pairs each, of a file of source TAB target; each pair begins one of them."""
    rows = [line.split("\t") for line in Path(file).read_text("utf-8").splitlines()]
    pairs = [{"source": row[0], "target": row[1]} for row in rows]
    starts = range(len(pairs))
    chosen = [[pairs[(start + place) % len(pairs)] for place in range(size)] for start in starts]
    return [json.dumps({"pairs": some, "raw": True, "fast": fast}).encode() for some in chosen]


class Asker:
    """A client of ``send``: a plain socket, so that little of the machine's time is the clients'."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answer, self.began = b"", 0.0

    def ask(self, request: bytes) -> None:
        """Send a request, head and body."""
        self._answer, self.began = b"", time.perf_counter()
        self.socket.sendall(request)

    def status(self) -> bytes:
        """Read what has come of the answer. Returns its status, or nothing if there is more to come."""
        part = self.socket.recv(1 << 20)
        if not part:
            raise SystemExit("the service has closed a connection")
        self._answer += part
        head, _, body = self._answer.partition(b"\r\n\r\n")
        size = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return head[9:12] if size and len(body) >= int(size) else b""


def send(port: int, bodies: Sequence[bytes], clients: int, seconds: float) -> Load:
    """Let clients ask one request after the other for a time."""
    requests = itertools.cycle([head_of("/align", len(body)) + body for body in bodies])
    load, end = Load(), time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            asker = Asker(port)
            selector.register(asker.socket, selectors.EVENT_READ, asker)
            asker.ask(next(requests))
        while selector.get_map():
            for key, _ in selector.select():
                asker: Asker = key.data
                if status := asker.status():
                    load.seconds.append(time.perf_counter() - asker.began)
                    load.errors += status != b"200"
                    if time.monotonic() < end:
                        asker.ask(next(requests))
                    else:
                        selector.unregister(asker.socket)
                        asker.socket.close()
    return load


class Row(NamedTuple):
    """What was measured of one way to ask."""

    pairs_per_second: float
    cpu: float
    """Milliseconds of the service's computing time for a pair."""

    def against(self, other: Row) -> str:
        return (
            f"{self.pairs_per_second / other.pairs_per_second:.2f} times as many pairs a second, "
            f"{other.cpu / self.cpu:.2f} times less computing time for a pair"
        )


def measure(running: Running, bodies: Sequence[bytes], clients: int, seconds: float, name: str, size: int = 1) -> Row:
    """Print a row of figures; ``size`` is the number of pairs in a request."""
    send(running.port, bodies, clients, min(3.0, seconds))  # until memory and caches are as they stay
    memory, cpu, began = [running.megabytes()], running.cpu_seconds(), time.perf_counter()
    load = Load()
    for _ in range(2):
        half = send(running.port, bodies, clients, seconds / 2)
        load = Load(load.seconds + half.seconds, load.errors + half.errors)
        memory.append(running.megabytes())
    count, passed = len(load.seconds), time.perf_counter() - began
    row = Row(count * size / passed, 1_000 * (running.cpu_seconds() - cpu) / (count * size))
    print(
        f"{name:<34} {count / passed:7.0f} {load.percentile(50):7.1f} {load.percentile(99):7.1f} {row.cpu:7.2f} "
        f"{load.errors:6}  " + " / ".join(f"{one:.0f}" for one in memory),
        flush=True,
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="source TAB target")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--fast", action="store_true")
    options = parser.parse_args()
    bodies, short, many = bodies_of(options.file, options.fast), options.seconds / 3, options.clients
    print(f"{'':34}   req/s     p50     p99 CPU/pair errors MB at start / middle / end")
    with service() as running:
        alone = measure(running, bodies, 1, short, "one client")
        together = measure(running, bodies, many, options.seconds, f"{many} clients")
        lists = bodies_of(options.file, options.fast, many)
        listed = measure(running, lists, 1, short, f"one client, {many} pairs a request", many)
    with service("--batch", "1") as running:
        single = measure(running, bodies, many, short, f"{many} clients, --batch 1")
    print(f"{many} clients against one client: {together.against(alone)}")
    print(f"{many} clients against {many} with --batch 1: {together.against(single)}")
    print(f"{many} pairs a request against one: {listed.against(alone)}")


if __name__ == "__main__":
    main()
