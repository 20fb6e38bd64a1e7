"""The graph of a small aligner is valid ONNX, whatever the shape of its encoders."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

from weft.align.model_folder import SIDES, array_layouts, table_names
from weft.align.onnx_graph import OUTPUTS, scorer_graph
from weft.config import AlignerConfig, EncoderConfig

WIDTH = 16
SHAPES = [
    EncoderConfig(2, WIDTH, 24, 4),
    EncoderConfig(1, 8, 8, 1),  # narrower than the embeddings
]


def arrays_of(shape: EncoderConfig) -> dict[str, np.ndarray]:
    """Random arrays of the layouts that a model folder has."""
    generator = np.random.default_rng(1)
    config = AlignerConfig("", 40, 0.5, EncoderConfig(1, WIDTH, 8, 2), shape)
    found = {}
    for name, (size, kind) in array_layouts(config).items():
        values = generator.integers(-60, 60, size) if kind == "I8" else generator.uniform(0.01, 0.02, size)
        found[name.removeprefix("fast.")] = values.astype(np.int8 if kind == "I8" else np.float32)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_the_graph_is_valid(shape: EncoderConfig) -> None:
    model = onnx.load_from_string(scorer_graph(arrays_of(shape), shape, WIDTH))
    onnx.checker.check_model(model)
    tables = [name for side in SIDES for name in table_names(side)]
    assert [one.name for one in model.graph.input] == [*SIDES, *tables]
    assert [one.name for one in model.graph.output] == [*OUTPUTS]
    constants = {one.name for one in model.graph.initializer}
    assert constants.isdisjoint(tables) and "source.norm_words.weight" in constants


@pytest.mark.parametrize("shape", SHAPES)
def test_attention_adds_up_to_one_over_what_is_not_padding(shape: EncoderConfig) -> None:
    arrays = arrays_of(shape)
    session = onnxruntime.InferenceSession(scorer_graph(arrays, shape, WIDTH), providers=["CPUExecutionProvider"])
    source, target = np.array([[5, 6, 1, 0], [7, 8, 9, 1]]), np.array([[4, 1, 0], [9, 3, 1]])
    tables = {name: arrays[name] for side in SIDES for name in table_names(side)}
    forward, backward = map(np.asarray, session.run(None, {"source": source, "target": target, **tables}))
    assert forward.shape == backward.shape == (2, 3, 4)
    np.testing.assert_allclose(forward.sum(2), 1, atol=1e-5)
    np.testing.assert_allclose(backward.sum(1), 1, atol=1e-5)
    assert not forward[0, :, 3].any() and not backward[0, 2].any()
