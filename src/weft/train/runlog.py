"""What a run leaves for people: ``metrics.jsonl`` and a description of where it ran."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import torch

import weft


class RunLog:
    """Appends to ``metrics.jsonl``; a run that is taken up again first forgets what its checkpoint doesn't know."""

    def __init__(self, folder: Path, updates_so_far: int) -> None:
        self.path = folder / "metrics.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        known = [line for line in read_metrics(self.path) if line["update"] <= updates_so_far]
        partial = self.path.with_suffix(".partial")
        partial.write_text("".join(json.dumps(line) + "\n" for line in known), encoding="utf-8")
        partial.replace(self.path)

    def write(self, **figures: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All complete lines of a metrics file; a line cut off by a kill is left out."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def environment(device: torch.device) -> dict[str, Any]:
    """Versions and hardware, for reports."""
    return {
        "weft": weft.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu",
    }
