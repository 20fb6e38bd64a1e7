"""What a release needs: one version everywhere, a dated section of changes, and metadata that agrees with the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import weft

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_one_version_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest and re.fullmatch(r"\d+\.\d+\.\d+", weft.__version__)
    assert newest.groups() == (weft.__version__, str(cited["date-released"]))
    assert cited["version"] == weft.__version__ and "version" in PROJECT["dynamic"]
    assert f"weft:{weft.__version__}\n" in (ROOT / "docs" / "clusters.md").read_text("utf-8")


def test_the_oldest_python_is_stated_alike() -> None:
    classified = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert PROJECT["requires-python"] == f">={classified[0]}"


def test_licences_are_shipped_with_what_they_cover() -> None:
    named = [ROOT / name for name in PROJECT["license-files"]]
    assert all(path.is_file() for path in named)
    vendored = list(ROOT.glob("src/**/vendor"))
    assert vendored and {path.parent for path in named} == {ROOT, *vendored}
    assert (ROOT / "src" / "weft" / "py.typed").is_file()
