"""Write trained scorers as the model folder of a small aligner, which needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from weft.align.model_folder import FAST, FORMAT, AlignerFolder, encoder_names, table_names, write_aligner
from weft.config import AlignerConfig, EncoderConfig
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.text.subwords import Subwords


def save_aligner(
    folder: Path, scorer: Scorer, fast: Scorer | None, batches: Iterable[PairRows], subwords: Subwords, threshold: float
) -> None:
    """Write a model folder. ``fast`` reads the embeddings of ``scorer``; ``batches`` are text to measure ranges on."""
    batches = list(batches)
    arrays = scorer.arrays(measured_ranges(scorer, batches))
    for name in (name for encoder in encoder_names(scorer.shared) for name in table_names(encoder)):
        arrays[name] = arrays[name][: len(subwords)]  # tables of translation models are rounded up
    if fast is not None:
        arrays |= {f"{FAST}{name}": array for name, array in fast.arrays(measured_ranges(fast, batches)).items()}
    shape = EncoderConfig(layers=0) if fast is None else fast.shape
    config = AlignerConfig(FORMAT, len(subwords), threshold, scorer.shape, shape, subwords.text, scorer.shared)
    write_aligner(folder, AlignerFolder(config, subwords, arrays))


@torch.no_grad()
def measured_ranges(scorer: Scorer, batches: Iterable[PairRows]) -> dict[str, float]:
    """Run a scorer on some text. Returns the largest absolute input of each linear layer by name."""
    ranges: dict[str, float] = {}
    names: dict[nn.Module, str] = {part: name for name, part in scorer.named_modules() if isinstance(part, nn.Linear)}

    def look(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        ranges[names[layer]] = max(ranges.get(names[layer], 0.0), inputs[0].abs().max().item())

    hooks = [part.register_forward_pre_hook(look) for part in names]
    for pair in batches:
        scorer(pair)
    for hook in hooks:
        hook.remove()
    return ranges
