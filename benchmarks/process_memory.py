"""What a command and all processes that it has started hold in memory. Linux only."""

from __future__ import annotations

from pathlib import Path


def megabytes(process: int) -> float:
    """Of a process and its descendants together; what they share counts once."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    family, added = {process}, True
    while added:
        children = {child for child, parent in parents.items() if parent in family} - family
        family |= children
        added = bool(children)
    return sum(map(_share, family)) / 1000


def _share(process: int) -> float:
    """The proportional set size in kilobytes."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("Pss:"))
