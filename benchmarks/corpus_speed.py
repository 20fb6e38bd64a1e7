"""How fast the training corpus is aligned by bidirectional attention optimisation.

    python benchmarks/corpus_speed.py run/model PREPARED [--pairs 50000]

Prints pairs/s from packed rows to links on the host, beside pairs/s of running the two frozen translation models alone,
which is a part of it, and the share of the matrix rate of a large product in the same run that it reaches.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from torch import Tensor
from train_speed import matrix_rate, wait

from weft.corpus.packing import pack
from weft.corpus.prepared import open_prepared
from weft.model.rows import DIRECTIONS, PairRows, half_precision
from weft.model.system import AlignmentSystem
from weft.progress import Progress
from weft.train.distributed import Process
from weft.train.stage_links import Extraction, align_rows, best_cells


def features_only(system: AlignmentSystem) -> Extraction:
    """What attention optimisation begins with; no links."""

    @torch.no_grad()
    def extract(pair: PairRows) -> Tensor:
        with half_precision(system.device):
            for direction in DIRECTIONS:
                way, seen = system.models[direction], pair.seen(direction)
                way.features(seen, way.encode(seen))
        return torch.zeros(1, 1, 1, dtype=torch.bool, device=system.device)

    return extract


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--pairs", type=int, default=50_000)
    arguments = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    process = Process(0, 1, device)
    system = AlignmentSystem.load(arguments.model, device)
    corpus = open_prepared(arguments.prepared)
    packed = pack(corpus.source, corpus.target, 128, most=arguments.pairs)
    methods = {
        "translation models alone": features_only(system),
        "bidirectional": best_cells(system.attend("bidirectional")),
    }
    few = pack(corpus.source, corpus.target, 128, most=2_000)
    rates = {}
    for name, extract in methods.items():
        list(align_rows(few, extract, process, Progress(visible=False)))  # lazy initialisation
        wait(device)
        begin = time.perf_counter()
        list(align_rows(packed, extract, process, Progress(visible=False)))
        wait(device)
        rates[name] = len(packed.pairs) / (time.perf_counter() - begin)

    table = system.models["forward"].translation.table
    tokens = sum(packed.tokens)
    # per step and token: logits of all words, and the way back from them to the attention
    flop = 2 * 2 * table.numel() * tokens / len(packed.pairs) * system.bidirectional.steps
    result = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "pairs": len(packed.pairs),
        "steps": system.bidirectional.steps,
        "pairs_per_second": {name: round(rate) for name, rate in rates.items()},
        "share_of_matrix_rate_in_optimisation": round(rates["bidirectional"] * flop / matrix_rate(device), 3),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
