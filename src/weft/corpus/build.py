"""``weft prepare``: parallel text in, a prepared folder out.

Four passes over a stream, none of which holds the corpus in memory:

    read     split every line into words, count what cleaning leaves out, spool the rest to disk
    decide   from 64-bit fingerprints alone: which pairs are duplicates, which are held out
    learn    the joint byte pair encoding, from the pairs that are kept
    encode   kept pairs to ids

All of it happens in a folder beside the final one, which takes its place in the last step.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from weft.config import PrepareConfig
from weft.corpus.prepared import SIDES, FileRecord, Manifest, PreparedCorpus, open_prepared, read_manifest
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.storage import atomic_folder, checksum_of, write_array
from weft.text.french import as_usual_or_not
from weft.text.reading import Block, Corpus
from weft.text.subwords import Subwords
from weft.text.words import normaliser, split_words
from weft.workers import available_cores, map_in_order

_SPOOL = "pairs.spool"
_BAD_LINES_SHOWN = 5


def prepare(corpus: Corpus, config: PrepareConfig, folder: Path, force: bool = False) -> PreparedCorpus:
    """Make the prepared folder ``folder`` from ``corpus``. An error leaves the folder as it was."""
    if folder.exists():
        if not force:
            raise WeftError(f"{folder}: already exists; choose another folder, or force its replacement")
        read_manifest(folder)  # force is for prepared corpora, not for whatever else people keep in folders
    with atomic_folder(folder) as staging, Progress() as progress:
        _fill(staging, corpus, config, progress)
    return open_prepared(folder)


def _fill(staging: Path, corpus: Corpus, config: PrepareConfig, progress: Progress) -> None:
    processes = available_cores()
    spool = staging / _SPOOL
    counts, bad_lines, fingerprints = _read(corpus, config, spool, processes, progress)
    keep, held_out = _decide(fingerprints, config, counts)
    if not keep.any():
        left_out = _left_out(counts) or "no lines"
        raise WeftError(f"no sentence pair is left to train on ({counts['read']:,} read; {left_out})")

    subwords = _learn(spool, keep, config, progress)
    subwords.save(staging / "tokenizer.json")
    id_type = "<u2" if len(subwords) <= 2**16 else "<u4"
    with (staging / "held-out.tsv").open("wb") as file:
        file.writelines(line for line, held in zip(_spooled(spool), held_out, strict=True) if held)
    _encode(staging, spool, keep, config, id_type, processes, progress)
    spool.unlink()

    counts["kept"] = int(keep.sum())
    files = {path.name: FileRecord(path.stat().st_size, checksum_of(path)) for path in sorted(staging.iterdir())}
    Manifest(
        counts=dict(counts),
        bad_lines=bad_lines,
        pieces={side: files[f"{side}.ids"].bytes // np.dtype(id_type).itemsize for side in SIDES},
        vocabulary=len(subwords),
        merges=subwords.merges,
        id_type=id_type,
        inputs={name: list(getattr(corpus, name)) for name in ("files", "source", "target")},
        options=config,
        files=files,
    ).write(staging)


# -- read: lines to words ----------------------------------------------------------------------------------------------


@dataclass
class _Cleaned:
    """A block after the reading pass."""

    lines: list[bytes]  # 'source TAB target', words between single spaces, as the user wrote them
    fingerprints: np.ndarray  # (lines, 2) of the normalised source and target
    counts: Counter[str]
    bad_lines: list[str]
    bytes_read: int


def _read(
    corpus: Corpus, config: PrepareConfig, spool: Path, processes: int, progress: Progress
) -> tuple[Counter[str], list[str], np.ndarray]:
    counts: Counter[str] = Counter(read=0)
    bad_lines: list[str] = []
    fingerprints: list[np.ndarray] = [np.empty((0, 2), np.uint64)]
    progress.phase("reading", corpus.size(), "B")
    with spool.open("wb") as file:
        for cleaned in map_in_order(functools.partial(_clean, config), corpus.blocks(), processes):
            file.writelines(cleaned.lines)
            fingerprints.append(cleaned.fingerprints)
            counts.update(cleaned.counts)
            bad_lines.extend(cleaned.bad_lines[: _BAD_LINES_SHOWN - len(bad_lines)])
            progress.advance(cleaned.bytes_read)
    return counts, bad_lines, np.concatenate(fingerprints)


def _clean(config: PrepareConfig, block: Block) -> _Cleaned:
    text = config.text
    normalise = functools.cache(normaliser(text))  # words repeat
    lines: list[bytes] = []
    fingerprints: list[tuple[int, int]] = []
    counts: Counter[str] = Counter()
    bad: list[BadLine] = []
    for source_text, target_text in block.pairs(bad.append if config.skip_bad else None):
        source = split_words(source_text, text.tokenisation, text.source_language)
        target = split_words(target_text, text.tokenisation, text.target_language)
        longer, shorter = max(len(source), len(target)), min(len(source), len(target))
        if shorter == 0:
            counts["empty"] += 1
        elif config.longest and longer > config.longest:
            counts["too long"] += 1
        elif config.ratio and longer > config.ratio * shorter:
            counts["unequal lengths"] += 1
        else:
            lines.append(f"{' '.join(source)}\t{' '.join(target)}\n".encode())
            fingerprints.append((_fingerprint(map(normalise, source)), _fingerprint(map(normalise, target))))
    counts["read"] = len(block.source)
    counts["bad"] = len(bad)
    hashes = np.array(fingerprints, np.uint64).reshape(-1, 2)
    shown = [f"{line.file}:{line.line}: {line.problem}" for line in bad[:_BAD_LINES_SHOWN]]
    return _Cleaned(lines, hashes, +counts, shown, block.bytes_read)


def _fingerprint(words: Iterator[str]) -> int:
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")


def _spooled(spool: Path) -> Iterator[bytes]:
    with spool.open("rb") as file:
        yield from file


# -- decide: duplicates and held-out pairs -----------------------------------------------------------------------------


def _decide(fingerprints: np.ndarray, config: PrepareConfig, counts: Counter[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return masks over the spooled pairs: those to train on, and those held out."""
    pairs = len(fingerprints)
    source, target = fingerprints[:, 0], fingerprints[:, 1]
    # A number for each pair, the same for equal pairs and in no order: the smallest ones are a random choice.
    mixed = source * np.uint64(0x9E3779B97F4A7C15) + target * np.uint64(0xC2B2AE3D27D4EB4F) + np.uint64(config.seed)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xD6E8FEB86659FD93)
    numbers, first = np.unique(mixed, return_index=True)
    held_out, keep = np.zeros(pairs, bool), np.ones(pairs, bool)
    if config.hold_out:
        if config.hold_out >= len(numbers):
            raise WeftError(f"cannot hold {config.hold_out:,} pairs out of {len(numbers):,} different ones")
        held_out[first[: config.hold_out]] = True
        keep = ~np.isin(source, source[held_out]) & ~np.isin(target, target[held_out])
        counts["held out"] = int(held_out.sum())
        counts["like held out"] = pairs - int(keep.sum()) - counts["held out"]
    if config.drop_duplicates:
        unique = np.zeros(pairs, bool)
        unique[first] = True
        counts["duplicates"] = int((keep & ~unique).sum())
        keep &= unique
    return keep, held_out


# -- learn and encode --------------------------------------------------------------------------------------------------


def _sides(line: bytes, config: PrepareConfig) -> list[str]:
    """Return both sentences of a spooled line, spelled as training sees them."""
    sides = line.decode().rstrip("\n").split("\t")
    if config.contract_french != "no":
        side = SIDES.index(config.contract_french)
        sides[side] = as_usual_or_not(sides[side])
    return sides


def _learn(spool: Path, keep: np.ndarray, config: PrepareConfig, progress: Progress) -> Subwords:
    normalise = functools.cache(normaliser(config.text))

    def sentences() -> Iterator[str]:
        for line, kept in zip(_spooled(spool), keep, strict=True):
            if kept:
                for side in _sides(line, config):
                    yield " ".join(map(normalise, side.split(" ")))
            progress.advance(1)

    progress.phase("learning subwords", len(keep), "pairs")
    return Subwords.learn(sentences(), config.merges, config.text)


def _encode(
    staging: Path,
    spool: Path,
    keep: np.ndarray,
    config: PrepareConfig,
    id_type: str,
    processes: int,
    progress: Progress,
) -> None:
    _subwords.cache_clear()  # the file is a new one, even if its name is not
    encode = functools.partial(_encode_block, staging / "tokenizer.json", config, id_type)
    kept = (line for line, wanted in zip(_spooled(spool), keep, strict=True) if wanted)
    progress.phase("encoding", int(keep.sum()), "pairs")
    lengths: list[list[np.ndarray]] = [[np.zeros(1, np.int64)] for _ in SIDES]
    with (staging / "source.ids").open("wb") as source, (staging / "target.ids").open("wb") as target:
        for encoded in map_in_order(encode, iter(lambda: list(islice(kept, 10_000)), []), processes):
            for file, collected, (ids, pieces) in zip((source, target), lengths, encoded, strict=True):
                file.write(ids)
                collected.append(pieces)
            progress.advance(len(encoded[0][1]))
    for side, collected in zip(SIDES, lengths, strict=True):
        write_array(staging / f"{side}.offsets", np.cumsum(np.concatenate(collected)).astype("<i8"))


@functools.lru_cache(maxsize=1)
def _subwords(path: Path, config: PrepareConfig) -> Callable[[str], tuple[int, ...]]:
    """Return `Subwords.pieces_of_word`, with one cache of words per process."""
    return Subwords.load(path, config.text).pieces_of_word


def _encode_block(
    tokenizer: Path, config: PrepareConfig, id_type: str, lines: list[bytes]
) -> list[tuple[bytes, np.ndarray]]:
    """Return, for each side, the ids and the number of pieces of each sentence."""
    pieces_of_word = _subwords(tokenizer, config)
    ids: tuple[list[int], list[int]] = ([], [])
    lengths: tuple[list[int], list[int]] = ([], [])
    for line in lines:
        for side, sentence in enumerate(_sides(line, config)):
            before = len(ids[side])
            for word in sentence.split(" "):
                ids[side].extend(pieces_of_word(word))
            lengths[side].append(len(ids[side]) - before)
    return [(np.array(ids[side], id_type).tobytes(), np.array(lengths[side], np.int64)) for side in (0, 1)]


# -- report ------------------------------------------------------------------------------------------------------------


def _left_out(counts: Counter[str] | dict[str, int]) -> str:
    reasons = [(name, count) for name, count in counts.items() if name not in {"read", "kept"} and count]
    return ", ".join(f"{count:,} {name}" for name, count in reasons)


def report(corpus: PreparedCorpus) -> str:
    """Return lines that say what was prepared and what was left out."""
    manifest = corpus.manifest
    counts, bad_lines = manifest.counts, manifest.bad_lines
    sizes = " / ".join(f"{manifest.pieces[side]:,}" for side in SIDES)
    lines = [
        f"{corpus.folder}: {counts['kept']:,} of {counts['read']:,} pairs, {sizes} pieces, "
        f"vocabulary of {manifest.vocabulary:,} ({manifest.merges:,} merges)"
    ]
    if left_out := _left_out(counts):
        lines.append(f"left out: {left_out}")
    lines += [f"bad line {line}" for line in bad_lines]
    if counts.get("bad", 0) > len(bad_lines):
        lines.append(f"… and {counts['bad'] - len(bad_lines):,} more bad lines")
    return "\n".join(lines)
