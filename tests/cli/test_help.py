"""``weft COMMAND --help`` names what an argument is, not its type in Python."""

from __future__ import annotations

import re
import sys

import pytest

from weft import cli


@pytest.mark.parametrize("command", cli._COMMANDS)
def test_help_is_for_people(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["weft", command, "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    shown = capsys.readouterr().out
    assert f"usage: weft {command} " in shown
    assert not re.findall(r"\bSTR\b|\bPATH\b|None|\(default: (?:'')?\)", shown)
