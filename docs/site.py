"""Makes the repository, as it is, the source of the documentation site, so that all links between its files hold."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SHOWN = ("*.md", "CITATION.cff", "LICENSE", "docs/**/*.*", "examples/**/*.*", "src/weft/apply/*.py")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the pages of the navigation from the tables in README.md, a section from each."""
    tables = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Read\n")[2]
    sections = re.findall(r"^\| ([\w ]+) \| \|\n((?:\|.*\n)+)", tables, re.MULTILINE)
    config.nav = [{"weft": "README.md"}]
    for title, rows in sections:
        config.nav.append({title.capitalize(): list(dict.fromkeys(re.findall(r"\(([\w./-]+\.md)\)", rows)))})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take files of the repository, by their places in it, instead of those of ``docs`` alone."""
    paths = sorted({path for pattern in SHOWN for path in ROOT.glob(pattern) if path.is_file()})
    names = [path.relative_to(ROOT).as_posix() for path in paths if path != Path(__file__)]
    theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*theme, *(File(name, str(ROOT), config.site_dir, config.use_directory_urls) for name in names)])
