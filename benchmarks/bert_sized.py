"""What aligners on top of multilingual BERT compute: 8 of 12 layers of an encoder of its size, for both sentences.

    python benchmarks/bert_sized.py pairs.tsv --pairs 256

The weights are random: time does not depend on them. It takes the packages torch and transformers, which weft does not
need; ``align_speed.py --bert PYTHON`` calls it in an environment that has them. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from transformers import BertConfig, BertModel  # pyrefly: ignore

_WORD_PIECES = 1.35  # per word: an assumption, for the real vocabulary is not here
_VOCABULARY = 119_547
_BATCH = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    model = BertModel(BertConfig(vocab_size=_VOCABULARY, num_hidden_layers=8), add_pooling_layer=False).eval()
    with arguments.text.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line, _ in zip(file, range(arguments.pairs), strict=False)]
    lengths = sorted([int(len(side.split()) * _WORD_PIECES) + 2 for side in line] for line in lines)

    def encode(sizes: list[int]) -> torch.Tensor:
        ids = torch.randint(0, _VOCABULARY, (len(sizes), max(sizes)))
        mask = torch.arange(max(sizes))[None] < torch.tensor(sizes)[:, None]
        return model(input_ids=ids, attention_mask=mask.long()).last_hidden_state

    began = time.perf_counter()
    with torch.inference_mode():
        for first in range(0, len(lengths), _BATCH):
            batch = lengths[first : first + _BATCH]
            source, target = encode([pair[0] for pair in batch]), encode([pair[1] for pair in batch])
            scores = target @ source.mT
            ((scores.softmax(1) > 1e-3) & (scores.softmax(2) > 1e-3)).nonzero()
    seconds = time.perf_counter() - began
    print(json.dumps({"pairs": len(lengths), "seconds": seconds, "pairs_per_second": len(lengths) / seconds}))


if __name__ == "__main__":
    main()
