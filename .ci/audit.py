"""Looks for known vulnerabilities of the versions in constraints.txt. Fails only if it finds one.

pip-audit asks a service on the network. Where it cannot be reached this says so, and how much was not looked at.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


def findings(report: dict[str, Any]) -> tuple[list[str], str]:
    """Return a line for each known vulnerability, and a sentence on what was looked at."""
    packages = report["dependencies"]
    known = [
        f"{one['name']} {one['version']}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'no version'}"
        for one in packages
        for hole in one.get("vulns", ())
    ]
    skipped = sum("skip_reason" in one for one in packages)
    said = f"{len(packages) - skipped} packages audited, {len(known)} known vulnerabilities"
    return known, said + (
        f"; {skipped} SKIPPED: the service does not know them or cannot be reached" if skipped else ""
    )


def main() -> None:
    """Audit, and tell."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(CONSTRAINTS), "--no-deps", "--disable-pip", "-f", "json"]
    result = subprocess.run([*command, "--timeout", "15"], capture_output=True, text=True)
    try:
        known, said = findings(json.loads(result.stdout))
    except ValueError:
        known, said = [], f"SKIPPED, the audit did not run: {result.stderr.strip().splitlines()[-1:]}"
    print("\n".join([*known, f"Known vulnerabilities of dependencies: {said}."]))
    sys.exit(bool(known))


if __name__ == "__main__":
    main()
