"""Training on corpora of any size: memory that does not grow with them.

    python benchmarks/large_corpus.py FOLDER --millions 2 4 8 16 --limit 1500

For each size, makes a prepared corpus of so many million pairs in FOLDER (100 MB a million; sentences of the demo's
language, again and again) and trains all stages on it, with few updates of a tiny model. Prints, for each, a line of
JSON: the size of the corpus, CPU seconds, and the peak of the memory that is the program's own, without what the system
keeps of files and takes away when it needs the room. ``--limit`` is the most of it, in MB, that the system lets the
program have. Linux only.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from weft.config import CorpusConfig, PrepareConfig
from weft.corpus.build import prepare
from weft.corpus.made_up import sentence_pairs
from weft.corpus.prepared import SIDES, FileRecord, PreparedCorpus

_PAIRS = 20_000  # of text; more of them are the same again
_STAGES = ("training", "alignment.training", "guided.training", "scorer.training")
_SETTINGS = [
    "preset=tiny",
    *(f"{stage}.updates=20" for stage in _STAGES),
    *(f"{stage}.target_tokens=2000" for stage in _STAGES),
    "alignment.hidden=64",
    "alignment.least_agreement=0",  # which so few updates do not reach
    "alignment.most_null=1",
    "guided.pairs=2000",
    "guided.heads=4",
    "scorer.layers=2",
    "scorer.fast.layers=0",
    "scorer.lexicon=2000",
]


def small_corpus(folder: Path) -> PreparedCorpus:
    text = folder / "text.tsv"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in sentence_pairs(_PAIRS, 7))
    return prepare([CorpusConfig(files=(str(text),))], PrepareConfig(merges=1_000), folder / "small", force=True)


def repeated(corpus: PreparedCorpus, times: int, folder: Path) -> Path:
    """Write a prepared corpus that has another one so many times. Returns its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(corpus.folder, folder)
    for name, side in zip(SIDES, (corpus.source, corpus.target), strict=True):
        with (folder / f"{name}.ids").open("wb") as ids, (folder / f"{name}.offsets").open("wb") as offsets:
            offsets.write(side.offsets[:1].data)
            for time_ in range(times):
                ids.write(side.ids.data)
                offsets.write((side.offsets[1:] + time_ * len(side.ids)).data)
    manifest = corpus.manifest
    dataclasses.replace(
        manifest,
        corpora=[dataclasses.replace(manifest.corpora[0], pairs=times * len(corpus))],
        files={name: FileRecord((folder / name).stat().st_size, "") for name in manifest.files},
    ).write(folder)
    return folder


def own_megabytes(process: int) -> float:
    """What a process holds in memory that is in no file."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1000


def train(prepared: Path, run: Path, limit: int) -> dict[str, float]:
    """Train all stages. Returns seconds and memory."""
    recipe = run.with_suffix(".toml")
    recipe.write_text(f'run = "{run}"\nprepared = "{prepared}"\n')
    shutil.rmtree(run, ignore_errors=True)

    def limited() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_DATA, (limit * 1_000_000, limit * 1_000_000))

    before, peak = resource.getrusage(resource.RUSAGE_CHILDREN), 0.0
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.train", recipe, *_SETTINGS], stderr=sys.stderr, preexec_fn=limited
    )
    while process.poll() is None:
        peak = max(peak, own_megabytes(process.pid))
        time.sleep(0.02)
    if process.returncode:
        sys.exit(process.returncode)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = sum(path.stat().st_size for path in (run / "rows").rglob("*"))
    return {
        "rows_megabytes": round(rows / 1e6),
        "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "own_memory_megabytes": round(peak),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=float, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--limit", type=int, default=0, help="MB of the program's own memory (0: no limit)")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    small = small_corpus(arguments.folder)
    for millions in arguments.millions:
        prepared = repeated(small, round(millions * 1e6 / _PAIRS), arguments.folder / "prepared")
        size = sum(path.stat().st_size for path in prepared.iterdir())
        found = train(prepared, arguments.folder / "run", arguments.limit)
        print(json.dumps({"million_pairs": millions, "corpus_megabytes": round(size / 1e6), **found}), flush=True)


if __name__ == "__main__":
    main()
