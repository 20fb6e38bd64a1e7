"""``weft serve``: a service that aligns, transfers markup and projects labels over HTTP."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from weft.cli.options import choice
from weft.errors import WeftError
from weft.progress import say

_TOKEN = "WEFT_TOKEN"
_LEAST_TOKEN = 16  # characters
_BACKLOG = 1024  # connections that the system holds until they are accepted
_GRACE = 5.0  # seconds, beside the time that a request may take, until the service ends whatever it does


@dataclass(frozen=True)
class Options:
    """The options of the command, with their help."""

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 for all of this machine's, which others can reach."""
    port: int = 8000
    """0: any that is free."""
    model: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, choice("NAME", "multi")] = ()
    """A name that `weft models` lists, or the folder of a small aligner. May be repeated; the first is the default."""
    token_file: Annotated[str | None, choice("FILE", "the variable WEFT_TOKEN; without it, anyone may ask")] = None
    """Tokens that clients need, one a line."""
    batch: int = 256
    """How many sentence pairs of several requests are aligned together at most; 1: each alone."""
    most_bytes: int = 2_000_000
    """Of the body of a request; more gets status 413."""
    most_requests: int = 128
    """That are being answered or wait for it; more get status 429."""
    most_connections: int = 400
    """At a time; if there are more, those that send nothing are closed."""
    seconds: float = 30.0
    """That a request may take; then it gets status 504."""
    patience: float = 10.0
    """Seconds that a client may take to send a request, or to take its answer."""
    no_page: bool = False
    """Leave out the page, at /, which aligns in the browser."""
    cores: int = 0
    """How many cores of the processor to use; 0 for all."""

    def check(self) -> None:
        """Raise WeftError for what can be told to be wrong at once."""
        for name in ("batch", "most_bytes", "most_requests", "most_connections", "seconds", "patience"):
            if not 0 < getattr(self, name) < float("inf"):
                raise WeftError(f"--{name.replace('_', '-')} must be above 0, but is {getattr(self, name)}")
        if not 0 <= self.port < 1 << 16:
            raise WeftError(f"--port is from 0 to 65535, not {self.port}")

    def tokens(self) -> list[str]:
        """Return the tokens of the file, or of the environment."""
        where = f"--token-file {self.token_file}" if self.token_file else _TOKEN
        # What is no UTF-8 is replaced by what is no ASCII, either, and refused below.
        text = Path(self.token_file).read_text("utf-8", "replace") if self.token_file else os.environ.get(_TOKEN, "")
        tokens = text.split()
        if not tokens and (self.token_file or _TOKEN in os.environ):
            raise WeftError(f"{where}: has no token")
        if any(len(token) < _LEAST_TOKEN or not token.isascii() for token in tokens):
            raise WeftError(f"{where}: a token has {_LEAST_TOKEN} ASCII characters or more; try `openssl rand -hex 16`")
        return tokens


def serve(options: Annotated[Options, tyro.conf.arg(name="")]) -> None:
    """Answer requests over HTTP: `weft serve`, then `curl localhost:8000/align --json …`."""
    options.check()
    tokens = options.tokens()
    # uvicorn answers what it has, and then sends itself the signal again.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    import uvicorn

    from weft.align.model_folder import DEFAULT_MODEL
    from weft.serve.connections import connection_class
    from weft.serve.limits import Limits, Metrics
    from weft.serve.memory import free_memory_given_back
    from weft.serve.page_files import write_page
    from weft.serve.service import create_app, loaded_models

    limits, metrics = Limits(options.most_bytes, options.most_requests, options.seconds), Metrics()
    names = options.model or (DEFAULT_MODEL,)
    with (
        _listen(options.host, options.port) as listener,
        loaded_models(names, options.cores, options.batch, metrics) as models,
        tempfile.TemporaryDirectory(prefix="weft-") as folder,
        free_memory_given_back(),
    ):
        page = None if options.no_page else Path(folder) / "page"
        if page:
            write_page(page, names[0])
        config = uvicorn.Config(
            create_app(models, metrics, limits, tokens, page),
            http=connection_class(options.patience, options.most_connections),
            ws="none",
            proxy_headers=False,
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(options.seconds + options.patience + _GRACE),
        )
        host, port = listener.getsockname()[:2]
        if not tokens and host not in {"127.0.0.1", "::1"}:
            say("weft: others can reach this service, and anyone may ask: --token-file is for tokens")
        say(f"weft: {', '.join(models)} on http://{f'[{host}]' if ':' in host else host}:{port} (Ctrl-C to end)")
        gc.freeze()  # what is loaded stays: the collector need not look at it again and again
        uvicorn.Server(config).run([listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        # With its protocol (TCP) named: else asyncio lets the system hold small answers back for 40 ms.
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # also right after another service
        listener.bind(address)
        listener.listen(_BACKLOG)
        return listener
    except OSError as error:
        raise WeftError(f"--host {host} --port {port}: {error.strerror}") from None
