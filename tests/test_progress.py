"""Progress: a bar on a terminal, a line a minute in a log, nothing for what is short."""

from __future__ import annotations

import io
import sys

import pytest

from weft import progress as progress_module
from weft.progress import Progress, say


class Clock:
    """Time that moves when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(progress_module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_a_minute(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.phase("training", 10_000, "updates", done=1_000)
        for _ in range(36):
            clock.now += 5
            progress.advance(25, loss="2.31")
    assert capsys.readouterr().err.splitlines() == [
        "training: 1,300 of 10,000 updates, 29 min left, loss 2.31",
        "training: 1,600 of 10,000 updates, 28 min left, loss 2.31",
        "training: 1,900 of 10,000 updates, 27 min left, loss 2.31",
    ]


def test_what_is_short_is_quiet(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for name in ("reading", "encoding"):
            progress.phase(name, 100, "pairs")
            clock.now += 59
            progress.advance(50)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("total", "unit", "line"),
    [
        (9_000_000_000, "B", "reading: 9 of 9,000 MB, 16.6 h left\n"),
        (0, "lines", "reading: 9,000,000 lines\n"),
        (9_000_000, "pairs", "reading: 9,000,000 of 9,000,000 pairs, 0 min left\n"),
    ],
)
def test_units(total: float, unit: str, line: str, clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.phase("reading", total, unit)
    clock.now += 60
    progress.advance(9_000_000)
    assert capsys.readouterr().err == line


def test_others_show_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(visible=False)
    progress.phase("training", 100, "updates")
    clock.now += 600
    progress.advance(1)
    progress.say("but say what they have to say")
    assert capsys.readouterr().err == "but say what they have to say\n"


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress() as progress:
        progress.phase("training", 100, "updates")
        progress.advance(40, loss="2.31")
        progress.say("a line above")
        shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "training" in shown and "a line above\n" in shown


def test_a_terminal_without_tqdm_gets_lines(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress()
    progress.phase("training", 100, "updates")
    clock.now += 60
    progress.advance(50)
    assert capsys.readouterr().err == "training: 50 of 100 updates, 1 min left\n"


def test_a_stderr_that_takes_nothing_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    for stream in (Full(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        say("nobody hears this")
        with Progress() as progress:
            progress.phase("training", 100, "updates")
            progress.advance(1)


def test_messages_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say("name\x1b[2J of a file\nnext line")
    assert capsys.readouterr().err == "name\\x1b[2J of a file\nnext line\n"


def test_a_signal_while_a_message_is_written_can_have_a_message_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy(io.StringIO):
        def write(self, text: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

    monkeypatch.setattr(sys, "stderr", Busy())
    say("stopped")
