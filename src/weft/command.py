"""What every command needs: streams in UTF-8, errors as one line, exit codes.

Exit codes: 0 fine, 1 data or run-time error, 2 usage, 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import Any

from weft.errors import WeftError, printable

_PACKAGES = {  # what to install for a module that is missing
    "torch": "weft[train]",
    "google": "protobuf",
    "sacrebleu": "weft[eval]",
    "matplotlib": "weft[eval]",
    "pyarrow": "weft[parquet]",
    **dict.fromkeys(("fastapi", "prometheus_client", "uvicorn"), "weft[serve]"),
    **dict.fromkeys(("icu4py", "sacremoses", "sentencepiece"), "weft[tokens]"),
    **{name: name for name in ("numpy", "onnxruntime", "safetensors", "tokenizers", "tqdm", "tyro", "zstandard")},
}


@contextlib.contextmanager
def run_as_command() -> Iterator[None]:
    """Run the body as a command: with `use_utf8`, and with errors that users can cause as one line and an exit code."""
    use_utf8()
    try:
        yield
        sys.stdout.flush()
    except WeftError as error:
        _exit(str(error), 1)
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _PACKAGES:
            raise
        _exit(f"this needs the package {error.name}: pip install '{_PACKAGES[name]}'", 1)
    except BrokenPipeError:  # the reader of our output has seen enough
        _exit("", 1)
    except OSError as error:
        _exit(f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except MemoryError:
        _exit("out of memory", 1)
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's; torch may not be loaded
            raise
        _exit(f"the GPU is out of memory: {str(error).partition('. ')[0]}", 1)
    except KeyboardInterrupt:
        _exit("interrupted", 130)


def _exit(message: str, code: int) -> None:
    """Print ``message`` as one line on stderr and exit, without waiting for output that cannot be written."""
    with contextlib.suppress(OSError):
        if message:
            print(f"weft: {printable(message, keep='')}", file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    except OSError:  # flushed again at exit, which would print a warning and change the exit code
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def use_utf8() -> None:
    """Make stdin, stdout and stderr read and write UTF-8 with ``\\n`` line ends, whatever the locale and platform.

    They are opened again on their descriptors: with PYTHONUNBUFFERED Python's own stdout ignores that a full disk took
    only half of what was written. A closed stdin or stdout is an error when it is used, a closed stderr is silent.
    """
    for name, number, flags in (("stdin", 0, os.O_WRONLY), ("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY)):
        stream = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__"):
            continue  # someone, such as a test, has put another stream in its place
        if stream is None:  # opened the wrong way round, so that its use is an error
            number, stream = os.open(os.devnull, flags), io.StringIO()
        if os.name == "nt" and stream.isatty():  # a console of Windows takes no bytes
            stream.reconfigure(errors="backslashreplace", newline="\n")
            continue
        raw = _Waiting(number, "r" if name == "stdin" else "w", closefd=False)
        buffer: Any = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
        by_line = name == "stderr" or stream.line_buffering or getattr(stream, "write_through", False)
        setattr(sys, name, io.TextIOWrapper(buffer, "utf-8", "backslashreplace", "\n", line_buffering=by_line))


class _Waiting(io.FileIO):
    """A descriptor that waits if it is non-blocking and not ready; Python's own streams lose data there."""

    def readinto(self, buffer: Any) -> int:  # type: ignore[override]
        while (count := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return count

    def write(self, data: Any) -> int:  # type: ignore[override]
        while (count := super().write(data)) is None:
            select.select([], [self], [])
        return count
