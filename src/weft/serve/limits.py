"""What stands between clients and the service: tokens, limits on size and number, and counts of it all."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Collection
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCARDED = 16  # times the limit: what is read of a body that is too large, so that its sender sees the answer
_TAKEN_AS_IT_IS = (b"x-content-type-options", b"nosniff")  # a browser shows no answer as something else


@dataclass(frozen=True)
class Limits:
    """What a client may ask for."""

    most_bytes: int = 2_000_000
    """Of the body of a request."""
    most_requests: int = 128
    """That are complete and not answered yet, from all clients together."""
    seconds: float = 30.0
    """That a request may take once it is complete."""


class Metrics:
    """What Prometheus is told."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("weft_requests", "Requests answered", ["path", "status"], registry=self.registry)
        self.seconds = Histogram(
            "weft_request_seconds", "Time from the whole request to its answer", ["path"], registry=self.registry
        )
        self.at_work = Gauge("weft_requests_at_work", "Requests that are not answered yet", registry=self.registry)
        self.batches = Histogram(
            "weft_batch_pairs",
            "Sentence pairs that were aligned together",
            registry=self.registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
        )


class Refusal(Exception):
    """A request that is not passed on to the service."""

    def __init__(self, status: int, error: str, headers: Collection[tuple[bytes, bytes]] = ()) -> None:
        self.status, self.error, self.headers = status, error, headers


class Gate:
    """An ASGI application that lets through what keeps to the limits. Only ``guarded`` paths need a token."""

    def __init__(
        self, app: ASGIApp, limits: Limits, guarded: Collection[str], tokens: Collection[str], metrics: Metrics
    ) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._guarded, self._tokens = frozenset(guarded), [token.encode() for token in tokens]
        self._at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self._guarded else "other"
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], _TAKEN_AS_IT_IS]
            await send(message)

        began = time.perf_counter()
        if scope["method"] == "HEAD":  # is answered as GET; the server leaves the body out
            scope = {**scope, "method": "GET"}
        try:
            if path != "other":
                self._check_token(scope)
            body = await self._read(receive) if scope["method"] == "POST" else b""
            began = time.perf_counter()
            await self._pass_on(scope, body, receive, answer)
        except Refusal as refusal:
            await _refuse(refusal, answer)
        except ConnectionAbortedError:
            status = 499  # as others call it: the client has gone
        finally:
            self._metrics.requests.labels(path, status).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _check_token(self, scope: Scope) -> None:
        """Raise Refusal without a token that is known. Takes the same time whichever it is."""
        if not self._tokens:
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        kind, _, token = given.partition(b" ")
        known = sum(hmac.compare_digest(token.strip(), one) for one in self._tokens)
        if kind.lower() != b"bearer" or not known:
            error = "a token is needed: send the header 'Authorization: Bearer TOKEN'"
            raise Refusal(401, error, [(b"www-authenticate", b"Bearer")])

    async def _read(self, receive: Receive) -> bytes:
        """Return the body. Raises Refusal if it is too large, ConnectionAbortedError if the client goes away."""
        most, size, parts = self._limits.most_bytes, 0, []
        has_more = True
        while has_more and size <= _DISCARDED * most:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionAbortedError
            part = message.get("body", b"")
            size += len(part)
            if size <= most:
                parts.append(part)
            else:
                parts.clear()
            has_more = message.get("more_body", False)
        if size > most:
            raise Refusal(413, f"a body of more than {most:,} bytes; send fewer pairs at a time")
        return b"".join(parts)

    async def _pass_on(self, scope: Scope, body: bytes, receive: Receive, answer: Send) -> None:
        """Let the service answer, if it has not too much to do already."""
        is_work = scope["method"] == "POST"
        if is_work and self._at_work >= self._limits.most_requests:
            error = f"{self._at_work} requests are waiting already; try again in a second"
            raise Refusal(429, error, [(b"retry-after", b"1")])
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        self._at_work += is_work
        self._metrics.at_work.set(self._at_work)
        try:
            await self._app(scope, replay, answer)
        finally:
            self._at_work -= is_work
            self._metrics.at_work.set(self._at_work)


async def _refuse(refusal: Refusal, answer: Send) -> None:
    body = json.dumps({"error": refusal.error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *refusal.headers,
    ]
    await answer({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await answer({"type": "http.response.body", "body": body})
