"""The graph of a small aligner is valid ONNX, whatever the shape of its encoders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from weft.align.model_folder import AlignerFolder, array_layouts, encoder_names, read_aligner, table_names
from weft.align.onnx_graph import OUTPUTS, SIDES, scorer_graph
from weft.config import AlignerConfig, EncoderConfig, TextConfig
from weft.text.subwords import Subwords

SHAPE = EncoderConfig(2, 16, 24, 4)
NARROW = EncoderConfig(1, 8, 8, 1)
kinds = pytest.mark.parametrize(("shared", "fast"), [(False, False), (False, True), (True, False), (True, True)])


def aligner(shared: bool) -> AlignerFolder:
    """An aligner of random arrays."""
    generator = np.random.default_rng(1)
    config = AlignerConfig("", 40, 0.5, SHAPE, NARROW, shared=shared)
    arrays = {}
    for name, (size, kind) in array_layouts(config).items():
        values = generator.integers(-60, 60, size) if kind == "I8" else generator.uniform(0.01, 0.02, size)
        arrays[name] = values.astype(np.int8 if kind == "I8" else np.float32)
    return AlignerFolder(config, Subwords.learn(["a b"], 1, TextConfig()), arrays)


@kinds
def test_the_graph_is_valid(shared: bool, fast: bool) -> None:
    model = onnx.load_from_string(scorer_graph(aligner(shared), fast))
    onnx.checker.check_model(model)
    encoders = encoder_names(shared)
    tables = [name for encoder in encoders for name in table_names(encoder)]
    assert [one.name for one in model.graph.input] == [*SIDES, *tables]
    assert [one.name for one in model.graph.output] == [*OUTPUTS]
    constants = [one.name for one in model.graph.initializer]
    assert sum(name.endswith(".norm_words.weight") for name in constants) == len(encoders)
    assert len(constants) == len(set(constants)) and not set(constants) & set(tables)


@kinds
def test_attention_adds_up_to_one_over_what_is_not_padding(shared: bool, fast: bool) -> None:
    model = aligner(shared)
    session = onnxruntime.InferenceSession(scorer_graph(model, fast), providers=["CPUExecutionProvider"])
    source, target = np.array([[5, 6, 1, 0], [7, 8, 9, 1]]), np.array([[4, 1, 0], [9, 3, 1]])
    forward, backward = map(np.asarray, session.run(None, {"source": source, "target": target, **model.tables()}))
    assert forward.shape == backward.shape == (2, 3, 4)
    np.testing.assert_allclose(forward.sum(2), 1, atol=1e-5)
    np.testing.assert_allclose(backward.sum(1), 1, atol=1e-5)
    assert not forward[0, :, 3].any() and not backward[0, 2].any()


@pytest.mark.parametrize("fast", [False, True])
def test_a_shared_encoder_attends_exactly_alike_in_both_directions(shared_folder: Path, fast: bool) -> None:
    model = read_aligner(shared_folder)
    session = onnxruntime.InferenceSession(scorer_graph(model, fast), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(2)
    source, target = (generator.integers(2, 16_000, (3, length)) for length in (8, 80))
    for ids in (source, target):
        ids[:, -3:] = [1, 0, 0]
    one = session.run(None, {"source": source, "target": target, **model.tables()})
    other = session.run(None, {"source": target, "target": source, **model.tables()})
    for ours, theirs in zip(one, reversed(other), strict=True):
        assert np.asarray(ours).std() > 0.05  # it has something to say
        np.testing.assert_array_equal(ours, np.asarray(theirs).transpose(0, 2, 1))
