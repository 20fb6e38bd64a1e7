"""Connections that do not wait for slow clients: uvicorn's, with a limit, and deadlines for requests and answers."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_SLOW = 1.0  # seconds without a whole request, after which a connection may have to make room


class Connection(H11Protocol):
    """A connection that ends if its client sends a request, or takes an answer, too slowly.

    If there are too many connections, those that have been without a whole request for longest make room. So clients
    that open many and send little harm nobody but themselves.
    """

    patience: float
    """Seconds for a whole request, and for taking an answer."""
    most: int
    """Connections at a time; for a moment, until it is known which of them are slow, twice as many."""
    incomplete: dict[Connection, float]
    """All connections without a whole request, since when, in this order."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._request_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, or refuse it."""
        super().connection_made(transport)
        excess = len(self.connections) - self.most
        if excess > 0:
            latest = self.loop.time() - _SLOW
            slow = [one for one, since in itertools.islice(self.incomplete.items(), excess) if since < latest]
            for connection in slow:
                connection._stop_waiting()
                connection.transport.abort()
            if excess - len(slow) > self.most:
                self._end(503, f"{self.most:,} clients are being served already; try again in a second")
                return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, and note whether it is a whole request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client to take its answer, but not for ever."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client has taken most of its answer."""
        super().resume_writing()
        if self._answer_timer:
            self._answer_timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        if self._answer_timer:
            self._answer_timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer while the client owes us (the rest of) a request; stop it when the request is whole."""
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._stop_waiting()
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(self.patience, self._too_slow)
            self.incomplete[self] = self.loop.time()

    def _stop_waiting(self) -> None:
        if self._request_timer:
            self._request_timer.cancel()
            self._request_timer = None
        self.incomplete.pop(self, None)

    def _too_slow(self) -> None:
        self._stop_waiting()
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()  # it does not even take what it asked for
        else:
            self._end(408, f"the request was not complete after {self.patience:g} s")

    def _end(self, status: int, error: str) -> None:
        """Close the connection, with an answer if none was begun."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            body = json.dumps({"error": error}).encode()
            headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
            response = h11.Response(status_code=status, headers=[*headers.items()])
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def connection_class(patience: float, most: int) -> type[Connection]:
    """Return the class of the connections of one server."""
    return type("ServerConnection", (Connection,), {"patience": patience, "most": most, "incomplete": {}})
