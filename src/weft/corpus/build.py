"""``weft prepare``: parallel text in, a prepared folder out.

Four passes over a stream, none of which holds the corpus in memory:

    read     read every line, count what cleaning leaves out, spool the rest to disk
    decide   from 64-bit fingerprints alone, on disk: which pairs are duplicates, which are held out
    learn    the joint byte pair encoding, from the pairs that are kept
    encode   kept pairs to ids

All of it happens in a folder beside the final one, which takes its place in the last step.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
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
    mapped,
    open_prepared,
    read_manifest,
)
from weft.corpus.selection import PAIR, select
from weft.errors import BadLine, WeftError
from weft.progress import Progress
from weft.storage import atomic_folder, checksum_of
from weft.text.french import as_usual_or_not
from weft.text.reading import Block, Corpus
from weft.text.spelling import Speller
from weft.text.subwords import Subwords
from weft.text.words import split_spaces
from weft.workers import available_cores, map_in_order

_SPOOL = "spool"  # folder of what is on disk in between
_LINES, _PAIRS = "lines", "pairs"  # files in it
_MOST_WORDS = 2**16 - 1  # that are told apart
_MOST_UNITS = 8_000_000  # that are counted: about a gigabyte
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
    spool = staging / _SPOOL
    spool.mkdir()
    records, bad_lines, subwords, id_type = _make_ids(staging, spool, corpora, config, progress)
    shutil.rmtree(spool)
    files = {path.name: FileRecord(path.stat().st_size, checksum_of(path)) for path in sorted(staging.iterdir())}
    Manifest(
        corpora=records,
        bad_lines=bad_lines,
        pieces={side: files[f"{side}.ids"].bytes // np.dtype(id_type).itemsize for side in SIDES},
        vocabulary=len(subwords),
        merges=subwords.merges,
        id_type=id_type,
        options=config,
        files=files,
    ).write(staging)


def _make_ids(
    staging: Path, spool: Path, corpora: list[tuple[CorpusConfig, Corpus]], config: PrepareConfig, progress: Progress
) -> tuple[list[CorpusRecord], list[str], Subwords, str]:
    """Write all files but the manifest. Returns what it has to say about corpora, bad lines, vocabulary and ids."""
    processes = available_cores()
    read = _read(corpora, config, spool, processes, progress)
    keep, held_out = select(read.pairs, read.counts, config, spool)
    with (staging / "held-out.tsv").open("wb") as file:
        file.writelines(line for number, line in enumerate(_spooled(spool)) if number in held_out)
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
    return records, read.bad_lines, subwords, id_type


# -- read and clean lines ----------------------------------------------------------------------------------------------


@dataclass
class _Cleaned:
    """A block after the reading pass."""

    lines: list[bytes]  # 'source TAB target', as the user wrote them, all white space as single spaces
    pairs: np.ndarray  # of the type PAIR
    corpus: int
    counts: Counter[str]
    bad_lines: list[str]
    bytes_read: int


@dataclass
class _Read:
    """What the reading pass found in all corpora; their lines are in the spool, one corpus after the other."""

    texts: list[CorpusConfig]
    counts: list[Counter[str]]  # of each corpus
    bad_lines: list[str]
    pairs: np.ndarray  # of the type PAIR, one for each line


def _read(
    corpora: list[tuple[CorpusConfig, Corpus]], config: PrepareConfig, spool: Path, processes: int, progress: Progress
) -> _Read:
    counts: list[Counter[str]] = [Counter(read=0) for _ in corpora]
    bad_lines: list[str] = []
    blocks = ((number, block) for number, (_, corpus) in enumerate(corpora) for block in corpus.blocks())
    progress.phase("reading", sum(corpus.size() for _, corpus in corpora), "B")
    with (spool / _LINES).open("wb") as lines, (spool / _PAIRS).open("wb") as pairs:
        for cleaned in map_in_order(functools.partial(_clean, config), blocks, processes):
            lines.writelines(cleaned.lines)
            pairs.write(cleaned.pairs.tobytes())
            counts[cleaned.corpus].update(cleaned.counts)
            bad_lines.extend(cleaned.bad_lines[: _BAD_LINES_SHOWN - len(bad_lines)])
            progress.advance(cleaned.bytes_read)
    return _Read([text for text, _ in corpora], counts, bad_lines, mapped(spool / _PAIRS, PAIR))


def _clean(config: PrepareConfig, numbered: tuple[int, Block]) -> _Cleaned:
    corpus, block = numbered
    speller = Speller(config.text)
    lines: list[bytes] = []
    pairs: list[tuple[int, ...]] = []
    counts: Counter[str] = Counter()
    bad: list[BadLine] = []
    for source_text, target_text in block.pairs(bad.append if config.skip_bad else None):
        units = speller.texts(source_text), speller.texts(target_text)
        lengths = [_length(side) for side in units]
        shorter, longer = sorted(lengths)
        if shorter == 0:
            counts["empty"] += 1
        elif config.longest and longer > config.longest:
            counts["too long"] += 1
        elif config.ratio and longer > config.ratio * shorter:
            counts["unequal lengths"] += 1
        else:
            source, target = (" ".join(split_spaces(side)) for side in (source_text, target_text))
            lines.append(f"{source}\t{target}\n".encode())
            words = [min(length, _MOST_WORDS) for length in lengths]
            pairs.append((*map(_fingerprint, units), *words, corpus, len(lines[-1])))
    counts["read"] = len(block.source)
    counts["bad"] = len(bad)
    shown = [f"{line.file}:{line.line}: {line.problem}" for line in bad[:_BAD_LINES_SHOWN]]
    return _Cleaned(lines, np.array(pairs, PAIR), corpus, +counts, shown, block.bytes_read)


def _length(units: list[str]) -> int:
    """Return the number of units; a run of a script without spaces counts by its characters."""
    return sum(1 if unit[0] == " " else len(unit) for unit in units)


def _fingerprint(units: list[str]) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(units).encode(), digest_size=8).digest(), "little")


def _spooled(spool: Path) -> Iterator[bytes]:
    with (spool / _LINES).open("rb") as file:
        yield from file


# -- decide: pairs by way of English -----------------------------------------------------------------------------------


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
            words = read.pairs[f"{SIDES[1 - side]}_words"]
            own = np.flatnonzero(keep & (read.pairs["corpus"] == number) & (words >= _LEAST_PIVOT_WORDS))
            language = np.full_like(own, names.index(text.languages[side]))
            english = read.pairs[SIDES[1 - side]][own].view(np.int64)
            found.append(np.stack([own, english, language, np.full_like(own, side)]))
    numbers, english, language, sides = np.concatenate([np.empty((4, 0), np.int64), *found], axis=1)
    chosen = choose_pivots(english.view(np.uint64), language, names, config.pivots, config.zero_shot)
    if not len(chosen):
        raise WeftError(f"pivots: there are no two corpora with the same sentences of language {PIVOT}")
    begins = np.cumsum(read.pairs["bytes"], dtype=np.int64) - read.pairs["bytes"]
    with (spool / _LINES).open("rb") as file, (spool / _LINES).open("ab") as out:

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
    times = functools.partial(draw_counts, text.corpora, config.temperature, config.seed)
    blocks = ((block, times(block.first, block.first + len(block.lines))) for block in text.blocks())
    units: Counter[str] = Counter()
    progress.phase("counting words", len(text), "pairs")
    for pairs, found in map_in_order(functools.partial(_count_units, config), blocks, processes):
        units.update(found)
        if len(units) > _MOST_UNITS:
            units = _without_rarest(units)
        progress.advance(pairs)
    progress.phase("learning subwords", 0, "")
    return Subwords.learn(units, config.merges, config.text)


def _without_rarest(units: Counter[str]) -> Counter[str]:
    """Return the more frequent half of some units, or less: merges are learned from frequent ones."""
    least = sorted(units.values())[len(units) // 2]
    return Counter({unit: count for unit, count in units.items() if count > least})


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
    with ExitStack() as stack:
        files = [
            [stack.enter_context((staging / f"{side}.{kind}").open("wb")) for kind in ("ids", "offsets")]
            for side in SIDES
        ]
        ends = [0, 0]  # of the ids of each side
        for _, offsets_file in files:
            offsets_file.write(np.zeros(1, "<i8").tobytes())
        for encoded in map_in_order(encode, text.blocks(), processes):
            for side, (ids, pieces) in enumerate(encoded):
                offsets = ends[side] + np.cumsum(pieces)
                files[side][0].write(ids)
                files[side][1].write(offsets.astype("<i8").tobytes())
                ends[side] = int(offsets[-1])
            progress.advance(len(encoded[0][1]))


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
