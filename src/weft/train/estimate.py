"""About how long training takes on a device: the arithmetic it needs over the speed of a large matrix product."""

from __future__ import annotations

import time

import torch

from weft.config import AlignerConfig, EncoderConfig, TrainingConfig, TuneConfig
from weft.corpus.prepared import Side
from weft.model.rows import has_half_precision
from weft.recipe import Recipe
from weft.train.stages import Kind

# The share of that speed which each kind of training reached: with the preset paper on one H200 (770 TFLOP/s), and on
# two cores of a server. On the H200 distilling reached 0.066 before layers were compiled; an update that took 35.8 ms
# takes 24.7 since then: 0.066 · 35.8 / 24.7 = 0.096. For recipe multi, fast encoders made 36,000 updates of 18,000
# tokens of 9.4 million operations in 175 s: 36,000 · 18,000 · 9.4e6 / 770e12 / 175 = 0.045.
_SHARE_OF_SPEED: dict[str, dict[Kind, float]] = {
    "cuda": {
        "translate": 0.21, "align": 0.11, "links": 0.10, "guide": 0.06, "distil": 0.096, "refine": 0.096, "fast": 0.045,
    },
    "cpu": {"translate": 0.5, "align": 0.5, "links": 0.5, "guide": 0.3, "distil": 0.3, "refine": 0.3, "fast": 0.3},
}  # fmt: skip
# A GPU makes better use of wide layers. Recipe multi, whose teacher is 512 wide, distilled 36,000 updates of 18,000
# tokens of 145 million operations in 510 s, a share of 0.24, and translated with one of 0.39: about twice those above.
_WIDTH, _MOST_GAIN = 256, 2.0
_SECONDS_OF_COUNTING = 1.5e-5  # for a pair of pieces of a sentence pair, in tuning, on one core
_BYTES_AND_END = 258  # entries of a vocabulary besides merges


def training_minutes(recipe: Recipe, pairs: int, pieces: float, device: torch.device) -> dict[Kind, float]:
    """Return the minutes of each kind of training for so many pairs with so many target pieces, for all teachers."""
    model, width, scorer = recipe.model, recipe.model.width, recipe.scorer
    encoder = model.encoder_layers * (4 * width**2 + 2 * width * model.feed_forward)
    decoder = model.decoder_layers * (8 * width**2 + 2 * width * model.feed_forward)
    output = (recipe.prepare.merges + _BYTES_AND_END) * width
    frozen = 2 * 2 * (encoder + decoder)  # operations for a token, in both directions
    student = _operations(scorer.shape(model))
    guiding = min(recipe.guided.pairs or pairs, pairs) * pieces / max(1, pairs)
    reading, reading_own = (min(one, pairs) * pieces / max(1, pairs) for one in (scorer.lexicon, scorer.refine.lexicon))
    teachers, models = recipe.teachers, 1 if recipe.one_model else len(recipe.directions)
    refining = _tokens(scorer.refine.training)
    operations: dict[Kind, float] = {
        "translate": teachers * models * 6 * (encoder + decoder + output) * _tokens(recipe.training),
        "align": teachers * (frozen + 2 * 4 * output) * _tokens(recipe.alignment.training),
        "links": teachers * (frozen + 2 * 4 * output * recipe.bidirectional.steps) * guiding,
        "guide": teachers * frozen * _tokens(recipe.guided.training),
        "distil": (teachers * frozen + 3 * student) * _tokens(scorer.training) + teachers * frozen * reading,
    }
    if refining:
        operations["refine"] = 4 * student * refining + student * reading_own
    if scorer.fast.layers:
        operations["fast"] = (student + 3 * _operations(scorer.fast)) * _tokens(scorer.training)
    narrow = scorer.shape(model).width  # of those that learn without teachers
    widths = {kind: narrow if kind in ("refine", "fast") else width for kind in operations}
    return _minutes(operations, widths, device)


def tuning_minutes(aligner: AlignerConfig, config: TuneConfig, sides: tuple[Side, Side], device: torch.device) -> float:
    """Return the minutes of tuning a small aligner to a text."""
    student, fast = _operations(aligner.encoders), _operations(aligner.fast)
    learning = 3 * student + (student + 3 * fast if aligner.fast.layers else 0)
    operations = learning * _tokens(config.training) + student * len(sides[1].ids)
    counting = int((sides[0].lengths * sides[1].lengths).sum()) * _SECONDS_OF_COUNTING
    learned = _minutes({"distil": operations}, {"distil": aligner.encoders.width}, device)
    return learned["distil"] + counting / 60


def shown_time(minutes: float) -> str:
    """Return minutes as people say them."""
    return f"{minutes / 60:.1f} h" if minutes >= 100 else f"{max(1, round(minutes))} min"


def _operations(shape: EncoderConfig) -> float:
    """Operations for a token, on both sides; learning takes three times as many."""
    return 2 * 2 * shape.layers * (4 * shape.width**2 + 2 * shape.width * shape.feed_forward)


def _tokens(training: TrainingConfig) -> float:
    return training.updates * training.target_tokens


def _minutes(operations: dict[Kind, float], widths: dict[Kind, int], device: torch.device) -> dict[Kind, float]:
    """Return the minutes of each kind of training, whose widest layers have these widths."""
    speed, shares = _matrix_speed(device), _SHARE_OF_SPEED[device.type]
    if device.type == "cuda":
        shares = {kind: shares[kind] * min(width / _WIDTH, _MOST_GAIN) for kind, width in widths.items()}
    return {kind: count / (speed * shares[kind]) / 60 for kind, count in operations.items()}


def _matrix_speed(device: torch.device) -> float:
    """Return the operations a second of a large matrix product, in the precision that training uses."""
    side = 8_192 if device.type == "cuda" else 1_024
    precision = torch.bfloat16 if has_half_precision(device) else torch.float32
    matrix = torch.ones(side, side, dtype=precision, device=device)
    best = float("inf")
    for _ in range(5):
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        product = matrix @ matrix
        product[0, 0].item()  # waits until it is there
        best = min(best, time.perf_counter() - began)
    return 2 * side**3 / best
