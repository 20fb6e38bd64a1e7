"""Text for tests to prepare, and what is in a prepared folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weft.config import CorpusConfig
from weft.corpus.prepared import PreparedCorpus
from weft.storage import checksum_of


def write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> CorpusConfig:
    return write(path, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())


def write(path: Path, content: bytes) -> CorpusConfig:
    path.write_bytes(content)
    return CorpusConfig(files=(str(path),))


def training_pairs(prepared: PreparedCorpus) -> list[tuple[str, str]]:
    """The normalised text of all pairs in a prepared folder."""
    decode = prepared.subwords.decode
    return [
        (decode(prepared.source[index].tolist()), decode(prepared.target[index].tolist()))
        for index in range(len(prepared))
    ]


def held_out_pairs(prepared: PreparedCorpus) -> list[tuple[str, ...]]:
    lines = prepared.held_out.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return [tuple(line.split("\t")) for line in lines]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: checksum_of(path) for path in folder.iterdir()}
