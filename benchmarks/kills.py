"""Kills at random moments, of aligning in shards and of training all stages: is the result that of an undisturbed run?

    python benchmarks/kills.py align --pairs 1000000 --shards 4 --kills 20
    python benchmarks/kills.py train --kills 20

Aligning: short sentence pairs, nearly all different, go through ``weft align`` once as a whole, then in shards, each of
which is ended by SIGKILL at random places of its output and resumed. Training: a tiny recipe with all stages runs once
undisturbed, then again, ended by SIGKILL at random moments and started anew; if it is finished before there were enough
kills, another run begins. Prints JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.corpus.made_up import sentence_pairs

EXAMPLES = Path(__file__).parents[1] / "tests" / "ordinary" / "ro-en.tsv"
WEFT = [sys.executable, "-m", "weft"]
RECIPE = """
run = "{folder}/run"
files = ["{folder}/../text.tsv"]
preset = "tiny"
[prepare]
merges = 200
[training]
{training}
[alignment]
hidden = 32
least_agreement = 0.0
[alignment.training]
{training}
[guided]
pairs = 500
[guided.training]
{training}
[scorer]
layers = 1
pairs = 500
[scorer.training]
{training}
"""
TRAINING = "updates = 60\ntarget_tokens = 800\nrow_length = 64\nwarm_up = 5\nlog_every = 5\ncheckpoint_every = 5"


# -- aligning ----------------------------------------------------------------------------------------------------------


def short_pairs(count: int) -> Iterator[str]:
    """Lines of a few words each."""
    generator = random.Random(1)
    pairs = [line.split("\t")[:2] for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    for _ in range(count):
        source, target = (side.split()[:3] for side in generator.choice(pairs))
        number = str(generator.randrange(10_000))
        yield f"{' '.join([*source, number])}\t{' '.join([*target, number])}\n"


def kill_aligning(folder: Path, pairs: int, shards: int, kills: int) -> dict[str, Any]:
    text, whole = folder / "text.tsv", folder / "whole"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(short_pairs(pairs))
    command = [*WEFT, "align", str(text), "--model", "ro-en", "--fast", "-o"]
    subprocess.run([*command, str(whole)], check=True)
    generator, killed_at = random.Random(2), []
    digest = hashlib.sha256()
    for number in range(1, shards + 1):
        output, partial = folder / f"part-{number}", folder / f"part-{number}.partial"
        size = whole.stat().st_size // shards
        places = sorted(generator.randrange(size * 9 // 10) for _ in range(number - 1, kills, shards))
        resumable = [*command, str(output), "--shard", f"{number}/{shards}", "--resume"]
        for place in places:
            process = subprocess.Popen(resumable, stderr=subprocess.PIPE)
            while not partial.exists() or partial.stat().st_size <= place:
                if process.poll() is not None:
                    raise SystemExit(f"shard {number} ended before it could be killed: {process.communicate()[1]!r}")
                time.sleep(0.05)
            process.kill()
            process.communicate()
            killed_at.append(partial.read_bytes().count(b"\n"))
        subprocess.run(resumable, check=True)
        digest.update(output.read_bytes())
        output.unlink()
    equal = digest.hexdigest() == hashlib.sha256(whole.read_bytes()).hexdigest()
    return {"pairs": pairs, "shards": shards, "kills": len(killed_at), "lines_when_killed": killed_at, "equal": equal}


# -- training ----------------------------------------------------------------------------------------------------------


def results_of(run: Path) -> dict[str, str]:
    """Return the checksums of all weights and links that a run has made, without its checkpoints."""
    paths = [*run.rglob("*.safetensors"), *(run / "links").iterdir()]
    return {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if not path.name.startswith("checkpoint-") and path.suffix != ".json"
    }


def start_training(folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(folder=folder, training=TRAINING), encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # sums have one order
    with (folder / "messages").open("ab") as messages:
        return subprocess.Popen([*WEFT, "train", str(recipe)], stderr=messages, env=environment)


def kill_training(folder: Path, kills: int) -> dict[str, Any]:
    pairs = sentence_pairs(2_000, 7)
    (folder / "text.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    began = time.perf_counter()
    if start_training(folder / "undisturbed").wait():
        raise SystemExit((folder / "undisturbed" / "messages").read_text())
    seconds = time.perf_counter() - began
    expected = results_of(folder / "undisturbed" / "run")
    generator, done, runs, equal = random.Random(3), 0, 0, True
    stages: Counter[str] = Counter()
    disturbed = folder / "disturbed"
    while done < kills or disturbed.exists():
        process = start_training(disturbed)
        try:
            process.wait(generator.uniform(0.1, 0.5) * seconds if done < kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
            finished = sorted(disturbed.rglob("finished.json"), key=lambda path: path.stat().st_mtime)
            stages[f"after {finished[-1].parent.name}" if finished else "at the start"] += 1
            continue
        if process.returncode:
            raise SystemExit((disturbed / "messages").read_text())
        runs, equal = runs + 1, equal and results_of(disturbed / "run") == expected
        shutil.rmtree(disturbed)
    return {
        "kills": done,
        "kills_by_stage": dict(stages),
        "finished_runs": runs,
        "files": len(expected),
        "equal": equal,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["align", "train"])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.what == "align":
            print(json.dumps(kill_aligning(Path(name), arguments.pairs, arguments.shards, arguments.kills)))
        else:
            print(json.dumps(kill_training(Path(name), arguments.kills)))


if __name__ == "__main__":
    main()
