"""The one kind of error that users are meant to see: a single line that says what is wrong, where, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_EXTRAS = {
    "torch": "train",
    "safetensors": "train",
    "onnx": "train",
    "sacrebleu": "eval",
    "matplotlib": "eval",
    "sacremoses": "text",
}


class WeftError(Exception):
    """Bad input or a situation that only the user can mend. The command line prints it as one line and exits with 1."""


class BadLine(WeftError):
    """A line of a corpus that cannot be used; ``--skip-bad`` counts such lines instead of stopping at the first."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(file, line, problem)  # the arguments as they are, so that workers can send it by pickle
        self.file, self.line, self.problem = file, line, problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.problem}; mend the line or leave such lines out with --skip-bad"


@contextmanager
def errors_as_lines() -> Iterator[None]:
    """Turn what users can cause into one line on stderr and an exit code: 1 for bad data, 130 for Ctrl-C."""
    try:
        yield
    except WeftError as error:
        _exit(str(error), 1)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        _exit(f"this needs the package {error.name}: pip install 'weft[{_EXTRAS[error.name]}]'", 1)
    except BrokenPipeError:
        raise
    except OSError as error:
        _exit(f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except KeyboardInterrupt:
        _exit("interrupted", 130)


def _exit(message: str, code: int) -> None:
    print(f"weft: {message}", file=sys.stderr)
    sys.exit(code)
