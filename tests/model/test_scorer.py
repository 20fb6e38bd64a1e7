"""Scorers: what they own, and what is left of them in eight bits."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import nn

from weft.align.model_folder import AlignerFolder, array_layouts, read_aligner, shipped_models
from weft.config import AlignerConfig, EncoderConfig, ModelConfig
from weft.model.rows import PairRows, Rows, masked_softmax
from weft.model.scorer import Scorer, stored_scorers
from weft.model.translation import TranslationModel

SHAPE = EncoderConfig(layers=2, width=32, feed_forward=64, heads=4)
FAST = EncoderConfig(layers=1, width=16, feed_forward=16, heads=2)
WORDS = 50


@pytest.fixture(params=[False, True], ids=["two", "shared"])
def scorers(request: pytest.FixtureRequest) -> tuple[Scorer, Scorer]:
    torch.manual_seed(4)
    scorer = Scorer(SHAPE, WORDS, shared=request.param)
    return scorer.eval(), Scorer(FAST, scorer).eval()


def ranges_of(scorer: Scorer) -> dict[str, float]:
    return {name: 1.0 for name, part in scorer.named_modules() if isinstance(part, nn.Linear)}


def arrays_of(scorer: Scorer, fast: Scorer) -> dict[str, np.ndarray]:
    return scorer.arrays(ranges_of(scorer)) | {f"fast.{k}": v for k, v in fast.arrays(ranges_of(fast)).items()}


def pair() -> PairRows:
    generator = torch.Generator().manual_seed(1)
    source, target = torch.randint(2, WORDS, (2, 3, 7), generator=generator).unbind()
    source[:, -1] = target[:, -1] = 1
    return PairRows.of(source, target)


def test_attention_is_that_of_the_scores(scorers: tuple[Scorer, Scorer]) -> None:
    whole = pair()
    shorter = PairRows(whole.source, Rows(*(side[:, 2:] for side in whole.target)))  # sides of different lengths
    halves = [one.bfloat16() for one in copy.deepcopy(scorers)]  # together, as one reads the embeddings of the other
    for (scorer, half), rows in itertools.product(zip(scorers, halves, strict=True), (whole, shorter)):
        scores, cells = scorer(rows), rows.cells()
        expected = [masked_softmax(scores, cells, direction) for direction in (2, 1)]
        for found, wanted in zip(scorer.attention(rows), expected, strict=True):
            torch.testing.assert_close(found, wanted)
        for found, wanted in zip(half.attention(rows), expected, strict=True):
            assert found.dtype == torch.float32 and not torch.equal(found, wanted)
            torch.testing.assert_close(found, wanted, atol=0.05, rtol=0.1)


def test_a_fast_scorer_reads_the_embeddings_of_another_without_owning_them(scorers: tuple[Scorer, Scorer]) -> None:
    scorer, fast = scorers
    assert fast.shared == scorer.shared
    assert sum("embedding.words.weight" in name for name in scorer.state_dict()) == (1 if scorer.shared else 2)
    assert not any("words.weight" in name for name in fast.state_dict() if "norm" not in name)
    before = fast(pair())
    with torch.no_grad():
        scorer.tables[0].weight[::2] *= -1
    assert not torch.allclose(fast(pair()), before)
    fast(pair()).sum().backward()
    narrow = fast.encoders[0].embedding.narrow
    assert narrow is not None and narrow.weight.grad is not None


def test_a_narrow_scorer_begins_from_the_embeddings_of_a_wider_model() -> None:
    torch.manual_seed(1)
    model = TranslationModel(ModelConfig(width=64, feed_forward=64, heads=4, encoder_layers=2, decoder_layers=1), WORDS)
    with torch.no_grad():
        model.table.copy_(
            torch.randn(len(model.table), 20) @ torch.randn(20, 64)
        )  # so few dimensions that none is lost
    encoder = Scorer(SHAPE, len(model.table)).encoders[0]
    encoder.start_from(model)
    ids = torch.arange(WORDS)[None]
    own, other = encoder.embedding.lexicon(ids)[0], model.embedding.lexicon(ids)[0]
    assert torch.allclose(own @ own.T, other @ other.T, rtol=1e-3, atol=1e-1)


def test_a_shared_encoder_scores_both_directions_alike(scorers: tuple[Scorer, Scorer]) -> None:
    turned = PairRows(pair().target, pair().source)
    for scorer in scorers:
        assert torch.allclose(scorer(pair()), scorer(turned).mT, atol=1e-5) == scorer.shared


def test_arrays_have_the_layout_that_config_json_implies(scorers: tuple[Scorer, Scorer]) -> None:
    """So neither ``model.scorer`` nor ``align.model_folder`` can change alone."""
    found = {name: (array.shape, array.dtype) for name, array in arrays_of(*scorers).items()}
    types = {"I8": np.int8, "F32": np.float32}
    layouts = array_layouts(AlignerConfig("", WORDS, 0.5, SHAPE, FAST, shared=scorers[0].shared))
    assert found == {name: (shape, np.dtype(types[kind])) for name, (shape, kind) in layouts.items()}


def test_scorers_are_read_back_as_exactly_as_eight_bits_hold_them(scorers: tuple[Scorer, Scorer]) -> None:
    subwords = read_aligner(shipped_models()["ro-en"]).subwords
    config = AlignerConfig("", WORDS, 0.5, SHAPE, FAST, shared=scorers[0].shared)
    content = AlignerFolder(config, subwords, arrays_of(*scorers))
    stored, stored_fast = stored_scorers(content)
    assert stored_fast is not None
    for before, after in zip(scorers, (stored, stored_fast), strict=True):
        for (name, old), new in zip(before.named_parameters(), after.parameters(), strict=True):
            step = old.abs().amax(-1, keepdim=True) / (127 if "embedding.words" in name else 63)
            assert ((old - new).abs() <= (step / 2 * 1.001 if old.ndim == 2 else 0)).all(), name
        for ours, theirs in zip(before.attention(pair()), after.eval().attention(pair()), strict=True):
            assert (ours - theirs).abs().max() < 0.02
    again = arrays_of(stored, stored_fast)
    for name, array in content.arrays.items():
        if array.dtype == np.int8:
            np.testing.assert_array_equal(again[name], array, name)


def test_without_fast_encoders_there_is_no_fast_scorer(scorers: tuple[Scorer, Scorer]) -> None:
    scorer, _ = scorers
    config = AlignerConfig("", WORDS, 0.5, SHAPE, shared=scorer.shared)
    subwords = read_aligner(shipped_models()["ro-en"]).subwords
    assert stored_scorers(AlignerFolder(config, subwords, scorer.arrays(ranges_of(scorer))))[1] is None
