"""One progress bar on a terminal, nothing anywhere else.

tqdm draws it where it is installed. Training also has to run on hosts that have little more than torch, so everything
here works without it.
"""

from __future__ import annotations

import contextlib
import sys
from types import TracebackType
from typing import Any

from weft.errors import printable


def say(message: str) -> None:
    """Print a message on stderr, where it never mixes with data. A stderr that takes none ends no run."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(printable(message), file=sys.stderr, flush=True)


class Progress:
    """A bar that goes through named phases: ``with Progress() as bar: bar.phase("reading", total, "B")``."""

    def __init__(self, visible: bool = True) -> None:
        self._bar: Any = None
        self._visible = visible and sys.stderr is not None and sys.stderr.isatty()

    def phase(self, name: str, total: float, unit: str, done: float = 0) -> None:
        """Start a phase of ``total`` units (0: nobody knows how many), ``done`` of which were finished earlier."""
        self.close()
        if not self._visible:
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        scaled = unit in {"B", "pairs", "lines"}
        self._bar = tqdm(
            desc=name, total=total or None, initial=done, unit=unit, unit_scale=scaled, leave=False, dynamic_ncols=True
        )

    def advance(self, units: float, **figures: str) -> None:
        """Move on by ``units`` and show ``figures`` (such as the loss) behind the bar."""
        if self._bar is not None:
            if figures:
                self._bar.set_postfix(figures, refresh=False)
            self._bar.update(units)

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            say(message)
        else:
            self._bar.write(message, file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
