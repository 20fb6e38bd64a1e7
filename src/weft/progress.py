"""Progress on stderr: a bar on a terminal; elsewhere, such as in the log of a cluster's job, a line a minute.

tqdm draws the bar. Training also has to run on hosts that have little more than torch, so without tqdm there are lines.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from weft.errors import printable

_SECONDS_BETWEEN_LINES = 60.0


def say(message: str) -> None:
    """Print a message on stderr, where it never mixes with data. A stderr that takes none ends no run."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, RuntimeError):  # the latter if a signal came while stderr was written to
            print(printable(message), file=sys.stderr, flush=True)


class Progress:
    """Progress through named phases: ``with Progress() as progress: progress.phase("reading", total, "B")``."""

    def __init__(self, visible: bool = True) -> None:
        self._visible = visible and sys.stderr is not None
        self._bar: Any = None
        self._lines: _Lines | None = None

    def phase(self, name: str, total: float, unit: str, done: float = 0) -> None:
        """Start a phase of ``total`` units (0: unknown), ``done`` of which were finished earlier."""
        self.close()
        if not self._visible:
            return
        if sys.stderr.isatty():
            with contextlib.suppress(ImportError):
                from tqdm import tqdm

                scaled = unit in {"B", "pairs", "lines"}
                options: dict[str, Any] = {"unit_scale": scaled, "leave": False, "dynamic_ncols": True}
                self._bar = tqdm(desc=name, total=total or None, initial=done, unit=unit, **options)
                return
        self._lines = _Lines(name, total, unit, done)

    def advance(self, units: float, **figures: str) -> None:
        """Move on by ``units`` and show ``figures``, such as the loss, after the bar."""
        if self._lines is not None:
            self._lines.advance(units, figures)
        elif self._bar is not None:
            if figures:
                self._bar.set_postfix(figures, refresh=False)
            self._bar.update(units)

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        if self._bar is None:
            say(message)
        else:
            self._bar.write(printable(message), file=sys.stderr)

    def close(self) -> None:
        """End the phase."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._lines = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Lines:
    """A line a minute, and none for what takes less."""

    def __init__(self, name: str, total: float, unit: str, done: float) -> None:
        self._name, self._total, self._unit = name, total, unit
        self._done = self._done_at_start = done
        self._began = self._last = time.monotonic()

    def advance(self, units: float, figures: Mapping[str, str]) -> None:
        self._done += units
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            say(", ".join([self._so_far(), *self._left(now), *(f"{name} {value}" for name, value in figures.items())]))

    def _so_far(self) -> str:
        unit, scale = ("MB", 1e6) if self._unit == "B" else (self._unit, 1)
        total = f" of {self._total / scale:,.0f}" if self._total else ""
        return f"{self._name}: {self._done / scale:,.0f}{total} {unit}"

    def _left(self, now: float) -> list[str]:
        """Return the time that is left at the speed so far, if that can be told."""
        speed = (self._done - self._done_at_start) / (now - self._began)
        if not self._total or speed <= 0:
            return []
        minutes = max(0.0, self._total - self._done) / speed / 60
        return [f"{minutes / 60:.1f} h left" if minutes >= 100 else f"{minutes:.0f} min left"]
