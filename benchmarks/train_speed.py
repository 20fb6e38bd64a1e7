"""How fast translation models are trained, against what the device can do.

    python benchmarks/train_speed.py [--preset paper] [--directions 2] [--prepared FOLDER]

Prints updates/s, real (unpadded) target tokens/s, the share of padding, seconds until the first update was made, and
the share of the matrix rate that a large bfloat16 product reaches in the same run. Without a prepared corpus it makes
sentences up: random words, lengths as in parliamentary debates.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from weft.config import PRESETS, ModelConfig, TrainingConfig
from weft.corpus.packed_rows import PackedRows
from weft.corpus.packing import pack
from weft.corpus.prepared import Side, open_prepared
from weft.model.translation import TranslationModel
from weft.train.distributed import Process
from weft.train.loop import Trainer
from weft.train.stage_translate import TranslationTask
from weft.train.task import Text


def invented_corpus(pairs: int, vocabulary: int) -> tuple[Side, Side]:
    """Sentences of random words; both sides of a pair have similar lengths."""
    random = np.random.default_rng(1)
    length = np.clip(random.lognormal(3.0, 0.65, pairs), 1, 120)
    sides = []
    for _ in range(2):
        lengths = np.clip(length * random.lognormal(0, 0.15, pairs), 1, 120).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.minimum(random.zipf(1.3, offsets[-1]) + 1, vocabulary - 1)
        sides.append(Side(ids.astype(np.uint16), offsets))
    return sides[0], sides[1]


def matrix_rate(device: torch.device) -> float:
    """FLOP/s of a large bfloat16 matrix product on random data (the median of several)."""
    size = 8192 if device.type == "cuda" else 512
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(10):
        wait(device)
        begin = time.perf_counter()
        for _ in range(4):
            a @ b
        wait(device)
        times.append((time.perf_counter() - begin) / 4)
    return 2 * size**3 / float(np.median(times))


def copy_rate(device: torch.device) -> float:
    """Bytes read and written per second by a large copy on the device (the median of several)."""
    source = torch.empty(2**30 if device.type == "cuda" else 2**26, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(10):
        wait(device)
        begin = time.perf_counter()
        target.copy_(source)
        wait(device)
        times.append(time.perf_counter() - begin)
    return 2 * source.numel() / float(np.median(times))


def update_flop(config: ModelConfig, vocabulary: int, rows: PackedRows, batch_rows: int) -> float:
    """Floating-point operations of the matrix products that an update needs for its real tokens, forward and back."""
    width, hidden = config.width, config.feed_forward
    source, target = (tokens / len(rows) * batch_rows for tokens in rows.tokens)
    layer = 4 * width**2 + 2 * width * hidden
    encoder = source * config.encoder_layers * layer
    decoder = config.decoder_layers * (target * (layer + 2 * width**2) + source * 2 * width**2)
    return 6 * (encoder + decoder + target * width * vocabulary)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=PRESETS, default="paper")
    parser.add_argument("--directions", type=int, choices=(1, 2), default=2)
    parser.add_argument("--prepared", type=Path)
    parser.add_argument("--target-tokens", type=int, default=36_000)
    parser.add_argument("--updates", type=int, default=200, help="timed updates of each direction")
    parser.add_argument("--vocabulary", type=int, default=40_258, help="of the invented corpus")
    parser.add_argument("--optimiser", choices=("muon", "adamw"), default="muon")
    arguments = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    process = Process(0, 1, device)
    vocabulary = arguments.vocabulary
    if arguments.prepared:
        corpus = open_prepared(arguments.prepared)
        source, target, vocabulary = corpus.source, corpus.target, len(corpus.subwords)
    else:
        source, target = invented_corpus(100_000, vocabulary)

    begin = time.perf_counter()
    config = TrainingConfig(
        updates=10**9, target_tokens=arguments.target_tokens, warm_up=10**6, optimiser=arguments.optimiser
    )
    text = Text(partial(pack, source, target, config.row_length))
    trainers, flop, padding = [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, own in (("forward", text), ("backward", text.swapped()))[: arguments.directions]:
            model = TranslationModel(PRESETS[arguments.preset], vocabulary)
            trainers.append(Trainer(TranslationTask(model, own, config, device), process, Path(folder) / name, {}))
            flop += update_flop(model.config, vocabulary, own.rows, trainers[-1].order.batch_rows)
            padding += own.rows.padding / arguments.directions
        packed_at = time.perf_counter() - begin
        first = None
        for _ in range(10):  # compilation, graph capture, caches
            for trainer in trainers:
                trainer.step()
            wait(device)
            first = first or time.perf_counter() - begin
        started = time.perf_counter() - begin
        for trainer in trainers:
            trainer.report(1.0)
        wait(device)
        begin = time.perf_counter()
        for _ in range(arguments.updates):
            for trainer in trainers:
                trainer.step()
        wait(device)
        seconds = time.perf_counter() - begin
        tokens = sum(trainer.report(1.0)["target_tokens"] for trainer in trainers)

    rate = matrix_rate(device)
    result = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "preset": arguments.preset,
        "parameters": sum(parameter.numel() for parameter in trainers[0].task.module.parameters()),
        "directions": arguments.directions,
        "optimiser": arguments.optimiser,
        "updates_per_second": round(arguments.directions * arguments.updates / seconds, 2),
        "target_tokens_per_update": round(tokens / arguments.updates / arguments.directions),
        "target_tokens_per_second": round(tokens / seconds),
        "padding": round(padding, 4),
        "seconds_to_pack_and_build": round(packed_at, 1),
        "compile_seconds": round((first or 0) - packed_at, 1),
        "seconds_to_first_update": round(first or 0, 1),
        "seconds_to_full_speed": round(started, 1),
        "milliseconds_per_update": round(1000 * seconds / arguments.updates / arguments.directions, 2),
        "useful_teraflop_per_update": round(flop / arguments.directions / 1e12, 3),
        "matrix_rate_teraflop_per_second": round(rate / 1e12, 1),
        "share_of_matrix_rate": round(flop * arguments.updates / seconds / rate, 3),
        "copy_rate_terabyte_per_second": round(copy_rate(device) / 1e12, 2),
        "peak_memory_gib": round(torch.cuda.max_memory_allocated() / 2**30, 1) if device.type == "cuda" else None,
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
