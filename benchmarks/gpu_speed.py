"""Where the time goes when a small aligner computes on a GPU.

    python benchmarks/gpu_speed.py pairs.tsv [--model multi] [--fast] [--cores 16] [--pairs 1000000]

Prints JSON lines. ``start``: seconds of each part of the start of the process that computes on the GPU. ``steps``:
microseconds a pair of each step from lines to lines, one after the other in one process, on the clock and of the
processor. ``device`` is what the process of the GPU does for a pair, links included; ``read`` and ``lines out`` are
those of the process that reads and writes; all others are shared by as many processes as there are cores. ``card``:
pairs/s of the model alone, and what they would be if its matrix products ran as fast as a large one in the same run.
``command``: ``weft align`` in all its processes, from file to file: pairs/s with the start, without that of a single
pair, and between a tenth of the text and all of it, which has no start in it.

A text of fewer pairs is repeated; then processes meet fewer new words than in other text. ``--device cpu`` is a
rehearsal without a GPU: torch on the processor for all but the command, which has no torch.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import pickle
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from align_speed import timed, weft_command


class Clocks:
    """Seconds of named steps: on the clock, and of the processor."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall[name] += time.perf_counter() - wall
        self.processor[name] += time.process_time() - processor

    def per(self, count: int) -> dict[str, dict[str, float]]:
        """Microseconds for each of so many."""
        sides = (("clock", self.wall), ("processor", self.processor))
        found = {side: {name: round(1e6 * value / count, 1) for name, value in all_.items()} for side, all_ in sides}
        return {side: {**steps, "all": round(sum(steps.values()), 1)} for side, steps in found.items()}


def started(model: str, device: str, fast: bool, pairs: list[tuple[str, str]]) -> tuple[Any, dict[str, float]]:
    """Load an aligner as a process of ``weft align`` does. Returns it and the seconds of each part."""
    clocks = Clocks()
    with clocks.step("import torch"):
        import torch
    with clocks.step("import weft"):
        from weft.align.model_folder import open_model
        from weft.model.torch_aligner import scorer_aligner
    with clocks.step("begin to use the device"):
        torch.zeros(1, device=device)
    with clocks.step("load the model"):
        aligner = scorer_aligner(open_model(model), device, fast)
    for name in ("first pairs", "the same pairs again"):  # kernels are loaded or compiled, and words are new
        with clocks.step(name):
            for _ in aligner.align(pairs, skip_long=True, ahead=len(pairs)):
                pass
    return aligner, {name: round(value, 2) for name, value in clocks.wall.items()}


def steps(aligner: Any, text: Path, block_lines: int, blocks: int) -> tuple[dict[str, Any], list[Any]]:
    """Align some blocks as a process does, but step by step. Returns microseconds a pair, and the pairs in pieces."""
    from weft.align.alignment import Alignment
    from weft.align.batched_aligner import PackedPairs, sorted_batches
    from weft.align.formats import FORMATS
    from weft.align.windowed import Wanted, encode_pairs, pass_over
    from weft.text.reading import Corpus
    from weft.text.words import Sentence

    clocks, pairs, all_pairs = Clocks(), 0, []
    wanted = Wanted(aligner.merge, aligner.threshold, matrices=False)
    reading = Corpus.of([str(text)]).blocks(block_lines)
    for _ in range(blocks):
        with clocks.step("read"):
            block = next(reading, None)
        if block is None:
            break
        with clocks.step("to the process and back"):
            block = pickle.loads(pickle.dumps(block))
        with clocks.step("words"):
            sentences = [(Sentence.from_text(one), Sentence.from_text(other)) for one, other in block.pairs()]
            for side in itertools.chain.from_iterable(sentences):
                len(side)
        with clocks.step("pieces"):
            encoded = list(encode_pairs(sentences, aligner.subwords, pass_over))
        with clocks.step("batches"):
            batches = sorted_batches(encoded, aligner.batch_tokens)
            packed = PackedPairs.of(batches)
        with clocks.step("to the process of the GPU"):
            packed = pickle.loads(pickle.dumps(packed))
        with clocks.step("device"):
            links = aligner.links(packed, wanted)
        with clocks.step("back from it"):
            links = pickle.loads(pickle.dumps(links))
        with clocks.step("links"):
            found = [Alignment(source, target) for source, target in sentences]
            for pair, of_pair, score, _ in links.of_pairs(itertools.chain.from_iterable(batches)):
                source, target = sentences[pair.number]
                found[pair.number] = Alignment(source, target, of_pair, score)
        with clocks.step("lines"):
            text_out = "".join(FORMATS["pharaoh"].one(alignment, 0) for alignment in found)
        with clocks.step("lines out"):
            pickle.loads(pickle.dumps(text_out)).encode()
        pairs += len(block.source)
        all_pairs.append(packed)
    return {"pairs": pairs, **clocks.per(pairs)}, all_pairs


def card(aligner: Any, all_pairs: list[Any]) -> dict[str, Any]:
    """Run the model alone on batches whose ids are on the device."""
    from torch import nn
    from train_speed import matrix_rate, wait

    from weft.model.rows import PairRows
    from weft.model.sentence_rows import sentence_rows

    batches = [batch for packed in all_pairs for batch in sentence_rows(packed, aligner.device)]
    on_device = [PairRows(source.rows, target.rows) for source, target in batches]
    wait(aligner.device)
    begin = time.perf_counter()
    for rows in on_device:
        aligner.attend(rows)
    wait(aligner.device)
    pairs = sum(len(packed.source.lengths) for packed in all_pairs)
    rate = pairs / (time.perf_counter() - begin)
    encoder = aligner.attend.__self__.encoders[0]
    weights = sum(module.weight.numel() for module in encoder.modules() if isinstance(module, nn.Linear))
    pieces = 2 * pairs + sum(len(packed.source.ids) + len(packed.target.ids) for packed in all_pairs)
    flop = 2 * weights * pieces / pairs
    limit = matrix_rate(aligner.device) / flop
    return {"pairs_per_second": round(rate), "limit_by_matrix_products": round(limit), "share": round(rate / limit, 3)}


def command(lines: list[str], model: str, options: list[str]) -> dict[str, Any]:
    """``weft align`` on a single pair, a tenth of the text, and all of it."""
    with tempfile.TemporaryDirectory() as name:
        text, output = Path(name) / "text.tsv", Path(name) / "links"
        seconds = []
        for size in (1, len(lines) // 10, len(lines)):
            text.write_text("".join(lines[:size]), encoding="utf-8")
            taken, memory = timed([*weft_command(model, options), str(text)], output)
            assert output.read_bytes().count(b"\n") == size
            seconds.append(taken)
    start, tenth, whole = seconds
    rates = {
        "with_start": len(lines) / whole,
        "without_start_of_a_pair": len(lines) / (whole - start),
        "between_a_tenth_and_all": (len(lines) - len(lines) // 10) / (whole - tenth),
    }
    rounded = {name: round(rate) for name, rate in rates.items()}
    times = {"single_pair": round(start, 1), "tenth": round(tenth, 1), "all": round(whole, 1)}
    return {
        "options": options,
        "pairs": len(lines),
        "seconds": times,
        "pairs_per_second": rounded,
        "memory_mb": round(memory),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="TSV, words between spaces")
    parser.add_argument("--model", default="multi")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--cores", type=int, default=0)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="for the command")
    parser.add_argument(
        "--block", type=int, default=10_000, help="pairs of a block, as BLOCK_LINES of weft.cli.aligning"
    )
    parser.add_argument("--blocks", type=int, default=5, help="that are aligned step by step")
    arguments = parser.parse_args()

    def show(part: str, figures: dict[str, Any]) -> None:
        print(json.dumps({part: figures}), flush=True)

    with arguments.text.open(encoding="utf-8") as file:
        lines = list(itertools.islice(file, arguments.pairs))
    first = [tuple(line.rstrip("\n").split("\t")) for line in lines[: arguments.block]]
    gc.set_threshold(100_000)  # as processes do
    aligner, seconds = started(arguments.model, arguments.device, arguments.fast, first)
    show("start", seconds)
    figures, all_pairs = steps(aligner, arguments.text, arguments.block, arguments.blocks)
    show("steps", figures)
    show("card", card(aligner, all_pairs))
    options = [*(["--device", "cuda"] if arguments.device == "cuda" else []), *(["--fast"] if arguments.fast else [])]
    repeated = list(itertools.islice(itertools.cycle(lines), arguments.pairs))
    show("command", command(repeated, arguments.model, [*options, "--cores", str(arguments.cores)]))


if __name__ == "__main__":
    main()
