"""The gate: size and number of requests, a header, and a client that goes away."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from weft.serve.limits import Gate, Limits, Metrics

Answer = tuple[int, dict[str, str], Any]


class Echo:
    """Answers with the size of the body, when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        await self.may_answer.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(len(message["body"])).encode()})


async def ask(gate: Gate, *parts: bytes, method: str = "POST", path: str = "/work") -> Answer | None:
    """Send a request whose body comes in parts; a client that goes away sends none and gets no answer."""
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)} for number, part in enumerate(parts, 1)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await gate({"type": "http", "method": method, "path": path, "headers": []}, receive, send)
    if not sent:
        return None
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, json.loads(sent[1]["body"])


def gate_of(app: Echo, metrics: Metrics | None = None, **limits: Any) -> Gate:
    return Gate(app, Limits(**limits), ["/work"], [], metrics or Metrics())


def test_bodies_have_a_limit_in_one_piece_or_many() -> None:
    async def run() -> list[Answer | None]:
        gate = gate_of(Echo(), most_bytes=10)
        bodies = [[b"a" * 10], [b"a" * 5, b"a" * 5, b""], [b"a" * 11], [b"a"] * 30, [b"a" * 100_000] * 3]
        return [await ask(gate, *parts) for parts in bodies]

    answers = asyncio.run(run())
    assert [answer and answer[0] for answer in answers] == [200, 200, 413, 413, 413]
    assert answers[0] and answers[0][2] == 10
    assert answers[2] and answers[2][2] == {"error": "a body of more than 10 bytes; send fewer pairs at a time"}


def test_too_many_requests_are_told_to_come_again() -> None:
    async def run() -> list[Answer | None]:
        app = Echo()
        app.may_answer.clear()
        gate = gate_of(app, most_requests=2)
        first = [asyncio.create_task(ask(gate, b"")) for _ in range(2)]
        await asyncio.sleep(0)
        refused = await ask(gate, b"")
        reading = asyncio.create_task(ask(gate, b"", method="GET"))  # takes no one's place
        app.may_answer.set()
        return [refused, await reading, *await asyncio.gather(*first), await ask(gate, b"")]

    refused, *others = asyncio.run(run())
    assert refused and refused[0] == 429 and refused[1]["retry-after"] == "1" and "2 requests" in refused[2]["error"]
    assert [answer and answer[0] for answer in others] == [200] * 4


def test_a_client_that_goes_away_is_counted() -> None:
    metrics = Metrics()
    assert asyncio.run(ask(gate_of(Echo(), metrics))) is None
    assert metrics.registry.get_sample_value("weft_requests_total", {"path": "/work", "status": "499"}) == 1
    assert metrics.registry.get_sample_value("weft_requests_at_work") == 0


def test_unknown_paths_are_counted_as_one() -> None:
    async def run() -> None:
        for number in range(3):
            await ask(gate, b"", path=f"/{number}")

    metrics = Metrics()
    gate = gate_of(Echo(), metrics)
    asyncio.run(run())
    assert metrics.registry.get_sample_value("weft_requests_total", {"path": "other", "status": "200"}) == 3


def test_browsers_are_told_to_take_answers_as_they_are() -> None:
    answer = asyncio.run(ask(gate_of(Echo()), b""))
    assert answer and answer[1] == {"x-content-type-options": "nosniff"}
