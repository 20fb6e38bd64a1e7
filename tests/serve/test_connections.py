"""Slow clients, and more of them than there is room for, against a service that runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from unittest.mock import MagicMock

import pytest
from service_attack import GOOD, silent, slow_body, slow_head
from service_load import Client, Running, head_of, service
from uvicorn import Config
from uvicorn.server import ServerState

from weft.serve.connections import connection_class

MOST = 8


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with service("--patience", "3", "--most-connections", str(MOST), "--cores", "1") as running:
        yield running


def open_connection(running: Running) -> asyncio.Future:
    return asyncio.ensure_future(asyncio.open_connection("127.0.0.1", running.port))


def test_slow_clients_are_told_and_closed(running: Running) -> None:
    async def run() -> list[str]:
        streams = [await open_connection(running) for _ in range(3)]
        kinds = (silent, slow_head, slow_body)
        answers = await asyncio.gather(*(kind(one, 0) for kind, one in zip(kinds, streams, strict=True)))
        rest = [await reader.read() for reader, _ in streams]  # ends: they are closed
        for _, writer in streams:
            writer.close()
        assert all(b"not complete after 3 s" in text for text in rest)
        return list(answers)

    assert asyncio.run(run()) == ["408"] * 3


def test_the_connection_that_waits_longest_makes_room(running: Running) -> None:
    async def run() -> None:
        idle = [await open_connection(running) for _ in range(MOST)]
        client = Client(running.port)
        await asyncio.sleep(1.1)
        status, _ = await client.post("/align", GOOD)
        assert status == 200 and await idle[0][0].read() == b""  # closed without a word
        client.close()
        for _, writer in idle:
            writer.transport.abort()

    asyncio.run(run())


def test_requests_may_follow_each_other_in_a_connection(running: Running) -> None:
    async def run() -> None:
        client = Client(running.port)
        for _ in range(3):
            status, body = await client.post("/align", GOOD)
            assert status == 200 and b'"0-0 1-1 2-2 3-3"' in body
        client.close()
        reader, writer = await open_connection(running)
        writer.write((head_of("/align", len(GOOD)) + GOOD) * 3)  # before any is answered
        for _ in range(3):
            await reader.readuntil(b'"line":"0-0 1-1 2-2 3-3"')
        writer.close()

    asyncio.run(run())


def test_a_client_that_offers_another_protocol_is_answered(running: Running) -> None:
    """Java's does with its first request, body and all; not every parser of HTTP reads the body then."""

    async def run() -> None:
        reader, writer = await open_connection(running)
        offer = b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAA\r\n\r\n"
        writer.write(head_of("/align", len(GOOD)).removesuffix(b"\r\n") + offer + GOOD)
        await reader.readuntil(b'"line":"0-0 1-1 2-2 3-3"')
        writer.close()

    asyncio.run(run())


def test_a_client_that_takes_no_answer_is_closed() -> None:
    async def run() -> None:
        kind = connection_class(patience=0.01, most=MOST)
        config = Config(lambda scope: None, log_config=None)
        deaf, late = (kind(config, ServerState(), {}) for _ in range(2))
        transports = [MagicMock(), MagicMock()]
        for connection, transport in zip((deaf, late), transports, strict=True):
            transport.is_closing.return_value, transport.get_write_buffer_size.return_value = False, 0
            connection.connection_made(transport)
            connection.pause_writing()
        late.resume_writing()
        await asyncio.sleep(0.1)
        assert [transport.abort.called for transport in transports] == [True, False]

    asyncio.run(run())
