"""``weft prepare``: parallel text in, a prepared folder out.

Four passes over a stream, none of which holds the corpus in memory:

    read     read every line, count what cleaning leaves out, spool the rest to disk
    decide   from 64-bit fingerprints alone: which pairs are duplicates, which are held out
    learn    the joint byte pair encoding, from the pairs that are kept
    encode   kept pairs to ids

All of it happens in a folder beside the final one, which takes its place in the last step.
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path

import numpy as np

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.noise import respelled
from weft.corpus.pivots import PIVOT, choose_pivots
from weft.corpus.prepared import (
    SIDES,
    CorpusRecord,
    FileRecord,
    Manifest,
    PreparedCorpus,
    draw_counts,
    left_out,
    open_prepared,
    read_manifest,
)
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.storage import atomic_folder, checksum_of, write_array
from weft.text.french import as_usual_or_not
from weft.text.reading import Block, Corpus
from weft.text.spelling import Speller
from weft.text.subwords import Subwords
from weft.text.words import split_spaces
from weft.workers import available_cores, map_in_order

_SPOOL = "pairs.spool"
_BAD_LINES_SHOWN = 5
_BLOCK_PAIRS = 10_000  # that are encoded together
_LEAST_PIVOT_WORDS = 5  # of an English sentence: shorter ones mean several things


def prepare(
    corpora: Sequence[CorpusConfig], config: PrepareConfig, folder: Path, force: bool = False
) -> PreparedCorpus:
    """Make the prepared folder ``folder`` from ``corpora``. An error leaves the folder as it was."""
    opened = [Corpus(one.files, one.source, one.target, one.form, one.languages) for one in corpora]
    if folder.exists():
        if not force:
            raise WeftError(f"{folder}: already exists; choose another folder, or force its replacement")
        read_manifest(folder)  # force is for prepared corpora, not for whatever else people keep in folders
    with atomic_folder(folder) as staging, Progress() as progress:
        _fill(staging, list(zip(corpora, opened, strict=True)), config, progress)
    return open_prepared(folder)


def _fill(staging: Path, corpora: list[tuple[CorpusConfig, Corpus]], config: PrepareConfig, progress: Progress) -> None:
    processes = available_cores()
    spool = staging / _SPOOL
    read = _read(corpora, config, spool, processes, progress)
    keep, held_out = _decide(read, config)
    with (staging / "held-out.tsv").open("wb") as file:
        file.writelines(compress(_spooled(spool), held_out))
    records = _records(read)
    if config.pivots:
        made = _add_pivots(read, keep, config, spool)
        keep = np.concatenate([keep, np.ones(made, bool)])
        records.append(CorpusRecord(CorpusConfig(), made, {}))

    text = _TrainingText(spool, keep, records)
    subwords = _learn(text, config, processes, progress)
    subwords.save(staging / "tokenizer.json")
    id_type = "<u2" if len(subwords) <= 2**16 else "<u4"
    _encode(staging, text, config, id_type, processes, progress)
    spool.unlink()

    files = {path.name: FileRecord(path.stat().st_size, checksum_of(path)) for path in sorted(staging.iterdir())}
    Manifest(
        corpora=records,
        bad_lines=read.bad_lines,
        pieces={side: files[f"{side}.ids"].bytes // np.dtype(id_type).itemsize for side in SIDES},
        vocabulary=len(subwords),
        merges=subwords.merges,
        id_type=id_type,
        options=config,
        files=files,
    ).write(staging)


# -- read and clean lines ----------------------------------------------------------------------------------------------


@dataclass
class _Cleaned:
    """A block after the reading pass."""

    corpus: int
    lines: list[bytes]  # 'source TAB target', as the user wrote them, all white space as single spaces
    fingerprints: np.ndarray  # (lines, 2) of the normalised source and target
    words: np.ndarray  # (lines, 2): how many
    counts: Counter[str]
    bad_lines: list[str]
    bytes_read: int


@dataclass
class _Read:
    """What the reading pass found in all corpora; their lines are in the spool, one corpus after the other."""

    texts: list[CorpusConfig]
    counts: list[Counter[str]]  # of each corpus
    bad_lines: list[str]
    fingerprints: np.ndarray  # (lines, 2)
    words: np.ndarray  # (lines, 2)
    corpus: np.ndarray  # (lines,) number of the corpus
    ends: np.ndarray  # (lines,) bytes of the spool up to the end of a line


def _read(
    corpora: list[tuple[CorpusConfig, Corpus]], config: PrepareConfig, spool: Path, processes: int, progress: Progress
) -> _Read:
    counts: list[Counter[str]] = [Counter(read=0) for _ in corpora]
    bad_lines: list[str] = []
    fingerprints, words = [np.empty((0, 2), np.uint64)], [np.empty((0, 2), np.uint16)]
    numbers, sizes = [np.empty(0, np.uint16)], [np.empty(0, np.int64)]
    blocks = ((number, block) for number, (_, corpus) in enumerate(corpora) for block in corpus.blocks())
    progress.phase("reading", sum(corpus.size() for _, corpus in corpora), "B")
    with spool.open("wb") as file:
        for cleaned in map_in_order(functools.partial(_clean, config), blocks, processes):
            file.writelines(cleaned.lines)
            fingerprints.append(cleaned.fingerprints)
            words.append(cleaned.words)
            numbers.append(np.full(len(cleaned.lines), cleaned.corpus, np.uint16))
            sizes.append(np.fromiter(map(len, cleaned.lines), np.int64, len(cleaned.lines)))
            counts[cleaned.corpus].update(cleaned.counts)
            bad_lines.extend(cleaned.bad_lines[: _BAD_LINES_SHOWN - len(bad_lines)])
            progress.advance(cleaned.bytes_read)
    texts = [text for text, _ in corpora]
    arrays = [np.concatenate(one) for one in (fingerprints, words, numbers, sizes)]
    return _Read(texts, counts, bad_lines, arrays[0], arrays[1], arrays[2], np.cumsum(arrays[3]))


def _clean(config: PrepareConfig, numbered: tuple[int, Block]) -> _Cleaned:
    corpus, block = numbered
    speller = Speller(config.text)
    lines: list[bytes] = []
    fingerprints: list[tuple[int, int]] = []
    words: list[tuple[int, int]] = []
    counts: Counter[str] = Counter()
    bad: list[BadLine] = []
    for source_text, target_text in block.pairs(bad.append if config.skip_bad else None):
        units = speller.texts(source_text), speller.texts(target_text)
        shorter, longer = sorted(map(_length, units))
        if shorter == 0:
            counts["empty"] += 1
        elif config.longest and longer > config.longest:
            counts["too long"] += 1
        elif config.ratio and longer > config.ratio * shorter:
            counts["unequal lengths"] += 1
        else:
            source, target = (" ".join(split_spaces(side)) for side in (source_text, target_text))
            lines.append(f"{source}\t{target}\n".encode())
            fingerprints.append((_fingerprint(units[0]), _fingerprint(units[1])))
            words.append((_length(units[0]), _length(units[1])))
    counts["read"] = len(block.source)
    counts["bad"] = len(bad)
    hashes = np.array(fingerprints, np.uint64).reshape(-1, 2)
    numbers = np.array(words, np.int64).reshape(-1, 2)
    shown = [f"{line.file}:{line.line}: {line.problem}" for line in bad[:_BAD_LINES_SHOWN]]
    return _Cleaned(corpus, lines, hashes, numbers, +counts, shown, block.bytes_read)


def _length(units: list[str]) -> int:
    """Return the number of units; a run of a script without spaces counts by its characters."""
    return sum(1 if unit[0] == " " else len(unit) for unit in units)


def _fingerprint(units: list[str]) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(units).encode(), digest_size=8).digest(), "little")


def _spooled(spool: Path) -> Iterator[bytes]:
    with spool.open("rb") as file:
        yield from file


# -- decide: duplicates, held-out pairs, pairs by way of English -------------------------------------------------------


def _decide(read: _Read, config: PrepareConfig) -> tuple[np.ndarray, np.ndarray]:
    """Return masks over the spooled pairs: those to train on, and those held out."""
    pairs = len(read.fingerprints)
    source, target = read.fingerprints[:, 0], read.fingerprints[:, 1]
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
        _count(read, "held out", held_out)
        _count(read, "like held out", ~keep & ~held_out)
    if config.drop_duplicates:
        unique = np.zeros(pairs, bool)
        unique[first] = True
        _count(read, "duplicates", keep & ~unique)
        keep &= unique
    _count(read, "kept", keep)
    return keep, held_out


def _count(read: _Read, reason: str, pairs: np.ndarray) -> None:
    """Count marked pairs of each corpus."""
    found = np.bincount(read.corpus[pairs], minlength=len(read.counts)).tolist()
    for counts, number in zip(read.counts, found, strict=True):
        counts[reason] = number


def _records(read: _Read) -> list[CorpusRecord]:
    """Return what the manifest says about each corpus. Raises WeftError if nothing is left of one."""
    for text, counts in zip(read.texts, read.counts, strict=True):
        if not counts["kept"]:
            of = f" of {text.name}" if len(read.texts) > 1 else ""
            reasons = left_out(counts) or "no lines"
            raise WeftError(f"no sentence pair{of} is left to train on ({counts['read']:,} read; {reasons})")
    return [
        CorpusRecord(text, counts["kept"], dict(counts)) for text, counts in zip(read.texts, read.counts, strict=True)
    ]


def _add_pivots(read: _Read, keep: np.ndarray, config: PrepareConfig, spool: Path) -> int:
    """Add pairs of two languages by way of English to the spool. Returns how many."""
    names = sorted({language for text in read.texts for language in text.languages} - {PIVOT})
    found: list[np.ndarray] = []  # of each corpus, (4, pairs): number, English fingerprint, language, its side
    for number, text in enumerate(read.texts):
        if PIVOT in text.languages:
            side = 1 - text.languages.index(PIVOT)
            own = np.flatnonzero(keep & (read.corpus == number) & (read.words[:, 1 - side] >= _LEAST_PIVOT_WORDS))
            language = np.full_like(own, names.index(text.languages[side]))
            english = read.fingerprints[own, 1 - side].view(np.int64)
            found.append(np.stack([own, english, language, np.full_like(own, side)]))
    numbers, english, language, sides = np.concatenate([np.empty((4, 0), np.int64), *found], axis=1)
    chosen = choose_pivots(english.view(np.uint64), language, names, config.pivots, config.zero_shot)
    if not len(chosen):
        raise WeftError(f"pivots: there are no two corpora with the same sentences of language {PIVOT}")
    begins = np.concatenate([[0], read.ends])
    with spool.open("rb") as file, spool.open("ab") as out:

        def sentence(place: int) -> bytes:
            file.seek(begins[numbers[place]])
            return file.readline().rstrip(b"\n").split(b"\t")[sides[place]]

        for first, second in chosen.tolist():
            out.write(sentence(first) + b"\t" + sentence(second) + b"\n")
    return len(chosen)


# -- learn and encode --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TrainingText:
    """The spooled pairs that are kept."""

    spool: Path
    keep: np.ndarray  # (spooled pairs,)
    corpora: list[CorpusRecord]

    def __len__(self) -> int:
        return sum(corpus.pairs for corpus in self.corpora)

    def blocks(self) -> Iterator[_TrainingBlock]:
        """Yield them in order, in blocks of one corpus each."""
        kept = compress(_spooled(self.spool), self.keep)
        first = 0
        for corpus in self.corpora:
            own = islice(kept, corpus.pairs)
            while lines := list(islice(own, _BLOCK_PAIRS)):
                yield _TrainingBlock(corpus.text, first, lines)
                first += len(lines)


@dataclass(frozen=True)
class _TrainingBlock:
    text: CorpusConfig
    first: int  # number of the first pair
    lines: list[bytes]

    def pairs(self, config: PrepareConfig) -> Iterator[list[str]]:
        """Yield both sentences of each pair, spelled and in the order in which training sees them."""
        for line in self.lines:
            sides = line.decode().rstrip("\n").split("\t")
            if self.text.contract_french != "no":
                side = SIDES.index(self.text.contract_french)
                sides[side] = as_usual_or_not(sides[side])
            if config.noise:
                languages = self.text.languages or ("", "")
                sides = [respelled(side, one, config.noise) for side, one in zip(sides, languages, strict=True)]
            if config.both_orders and hashlib.blake2b(line, digest_size=1).digest()[0] % 2:
                sides.reverse()
            yield sides


def _learn(text: _TrainingText, config: PrepareConfig, processes: int, progress: Progress) -> Subwords:
    """Learn merges from the text as an epoch draws it."""
    times = draw_counts(text.corpora, config.temperature, config.seed)
    blocks = ((block, times[block.first : block.first + len(block.lines)]) for block in text.blocks())
    units: Counter[str] = Counter()
    progress.phase("counting words", len(text), "pairs")
    for pairs, found in map_in_order(functools.partial(_count_units, config), blocks, processes):
        units.update(found)
        progress.advance(pairs)
    progress.phase("learning subwords", 0, "")
    return Subwords.learn(units, config.merges, config.text)


def _count_units(config: PrepareConfig, drawn: tuple[_TrainingBlock, np.ndarray]) -> tuple[int, Counter[str]]:
    """Return the number of pairs of a block and how often an epoch has their units."""
    block, times = drawn
    speller = Speller(config.text)
    units: Counter[str] = Counter()
    for sides, copies in zip(block.pairs(config), times.tolist(), strict=True):
        for side in sides:
            for unit in speller.texts(side):
                units[unit] += copies
    return len(times), units


def _encode(
    staging: Path, text: _TrainingText, config: PrepareConfig, id_type: str, processes: int, progress: Progress
) -> None:
    _subwords.cache_clear()  # the file is a new one, even if its name is not
    encode = functools.partial(_encode_block, staging / "tokenizer.json", config, id_type)
    progress.phase("encoding", len(text), "pairs")
    lengths: list[list[np.ndarray]] = [[np.zeros(1, np.int64)] for _ in SIDES]
    with (staging / "source.ids").open("wb") as source, (staging / "target.ids").open("wb") as target:
        for encoded in map_in_order(encode, text.blocks(), processes):
            for file, collected, (ids, pieces) in zip((source, target), lengths, encoded, strict=True):
                file.write(ids)
                collected.append(pieces)
            progress.advance(len(encoded[0][1]))
    for side, collected in zip(SIDES, lengths, strict=True):
        write_array(staging / f"{side}.offsets", np.cumsum(np.concatenate(collected)).astype("<i8"))


@functools.lru_cache(maxsize=1)
def _subwords(path: Path, config: PrepareConfig) -> Subwords:
    """Return the vocabulary, with one cache of words per process."""
    return Subwords.load(path, config.text)


def _encode_block(
    tokenizer: Path, config: PrepareConfig, id_type: str, block: _TrainingBlock
) -> list[tuple[bytes, np.ndarray]]:
    """Return, for each side, the ids and the number of pieces of each sentence."""
    subwords = _subwords(tokenizer, config)
    ids: tuple[list[int], list[int]] = ([], [])
    lengths: tuple[list[int], list[int]] = ([], [])
    for pair in block.pairs(config):
        for side, sentence in enumerate(pair):
            pieces = subwords.ids(sentence)
            ids[side].extend(pieces)
            lengths[side].append(len(pieces))
    return [(np.array(ids[side], id_type).tobytes(), np.array(lengths[side], np.int64)) for side in (0, 1)]


# -- report ------------------------------------------------------------------------------------------------------------
