"""The audit of dependencies that ``.ci/run`` makes: what it takes from pip-audit's report."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

CI = Path(__file__).parents[1] / ".ci"
FINE = {"name": "a", "version": "1", "vulns": []}
HOLE = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"], "aliases": []}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "known", "said"),
    [
        ([FINE], [], "1 packages audited, 0 known vulnerabilities"),
        ([FINE, HOLE], ["b 2: CVE-1, fixed in 3"], "2 packages audited, 1 known vulnerabilities"),
        (
            [SKIPPED, SKIPPED],
            [],
            "0 packages audited, 0 known vulnerabilities; 2 SKIPPED: the service does not know them",
        ),
    ],
)
def test_holes_count_and_what_was_not_looked_at_is_said(packages: list[Any], known: list[str], said: str) -> None:
    described = importlib.util.spec_from_file_location("audit", CI / "audit.py")
    assert described and described.loader
    audit = importlib.util.module_from_spec(described)
    described.loader.exec_module(audit)
    found = audit.findings({"dependencies": packages})
    assert found[0] == known and found[1].startswith(said)
