"""The graphs of a small aligner are valid ONNX, whatever the shape of its encoders."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from weft.align.model_folder import AlignerFolder, array_layouts, encoder_names, read_aligner, table_names
from weft.align.onnx_aligner import Sessions
from weft.align.onnx_graph import COMPARE, OUTPUTS, SIDES, scorer_graphs
from weft.align.windowed import LINK_CELLS
from weft.config import AlignerConfig, EncoderConfig, TextConfig
from weft.text.subwords import Subwords

SHAPE = EncoderConfig(2, 16, 24, 4)
NARROW = EncoderConfig(1, 8, 8, 1)
kinds = pytest.mark.parametrize(
    ("shared", "fast", "exact"), [*itertools.product([False, True], [False, True], [False]), (True, True, True)]
)


def aligner(shared: bool) -> AlignerFolder:
    """An aligner of random arrays."""
    generator = np.random.default_rng(1)
    config = AlignerConfig("", 40, 0.5, SHAPE, NARROW, shared=shared)
    arrays = {}
    for name, (size, kind) in array_layouts(config).items():
        values = generator.integers(-60, 60, size) if kind == "I8" else generator.uniform(0.01, 0.02, size)
        arrays[name] = values.astype(np.int8 if kind == "I8" else np.float32)
    return AlignerFolder(config, Subwords.learn({" a": 1, " b": 1}, 1, TextConfig()), arrays)


@kinds
def test_the_graphs_are_valid(shared: bool, fast: bool, exact: bool) -> None:
    encoders = encoder_names(shared)
    graphs = {name: onnx.load_from_string(graph) for name, graph in scorer_graphs(aligner(shared), fast, exact).items()}
    assert [*graphs] == [*encoders, COMPARE]
    for name, model in graphs.items():
        onnx.checker.check_model(model)
        ends = [*map(names, (model.graph.input, model.graph.output))]
        constants = names(model.graph.initializer)
        if name == COMPARE:
            assert ends == [["states", *SIDES], [*OUTPUTS]]
        else:
            assert ends == [["ids", *table_names(name)], ["states"]]
            assert sum(one.endswith(".norm_words.weight") for one in constants) == 1
        assert len(constants) == len(set(constants)) and not set(constants) & set(ends[0])


def names(values: Any) -> list[str]:
    return [one.name for one in values]


@kinds
def test_attention_adds_up_to_one_over_what_is_not_padding(shared: bool, fast: bool, exact: bool) -> None:
    model = aligner(shared)
    sessions = Sessions(scorer_graphs(model, fast, exact), model.tables())
    states = sessions.encode([([5, 6], [4]), ([7, 8, 9], [9, 3])])
    forward, backward = sessions.compare(states, [0, 1])
    assert forward.shape == backward.shape == (2, 8, 8)
    for pair, (source, target) in enumerate([(3, 2), (4, 3)]):
        np.testing.assert_allclose(forward[pair, :target].sum(1), 1, atol=1e-5)
        np.testing.assert_allclose(backward[pair, :, :source].sum(0), 1, atol=1e-5)
        assert not forward[pair, :, source:].any() and not backward[pair, target:].any()


@kinds
def test_sentences_do_not_depend_on_those_beside_them(shared: bool, fast: bool, exact: bool) -> None:
    model = aligner(shared)
    sessions = Sessions(scorer_graphs(model, fast, exact), model.tables())
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 9, (50, 2)).tolist()
    pairs = [(generator.integers(2, 40, n).tolist(), generator.integers(2, 40, m).tolist()) for n, m in sizes]
    sizes = [*sizes, [3, 900], [900, 3], [400, 400]]  # too many cells for one array
    pairs += [([5] * n, [6] * m) for n, m in sizes[-3:]]
    groups = list(sessions.attention(sessions.encode(pairs)))
    assert len(groups) > 1 and sorted(number for numbers, *_ in groups for number in numbers) == list(range(53))
    assert all(one.size <= LINK_CELLS for _, *attention in groups for one in attention)
    for numbers, *together in groups:
        for row, number in enumerate(numbers):
            (_, *alone), (n, m) = next(sessions.attention(sessions.encode([pairs[number]]))), sizes[number]
            for ours, theirs in zip(together, alone, strict=True):
                np.testing.assert_array_equal(ours[row, : m + 1, : n + 1], theirs[0, : m + 1, : n + 1])


@pytest.mark.parametrize("fast", [False, True])
def test_a_shared_encoder_attends_exactly_alike_in_both_directions(shared_folder: Path, fast: bool) -> None:
    model = read_aligner(shared_folder)
    sessions = Sessions(scorer_graphs(model, fast), model.tables())
    generator = np.random.default_rng(2)
    pairs = [(generator.integers(2, 16_000, 5).tolist(), generator.integers(2, 16_000, 77).tolist()) for _ in range(3)]
    turned = [(target, source) for source, target in pairs]
    one, other = (sessions.compare(sessions.encode(them), [0, 1, 2]) for them in (pairs, turned))
    for ours, theirs in zip(one, reversed(other), strict=True):
        ours, theirs = ours[:, :78, :6], theirs[:, :6, :78]  # without padding
        assert ours.std() > 0.05  # it has something to say
        np.testing.assert_array_equal(ours, theirs.transpose(0, 2, 1))


@pytest.mark.parametrize("fast", [False, True])
def test_exact_graphs_compute_the_same_but_for_rounding(shared_folder: Path, fast: bool) -> None:
    model = read_aligner(shared_folder)
    generator = np.random.default_rng(4)
    pairs = [(generator.integers(2, 16_000, 9).tolist(), generator.integers(2, 16_000, 12).tolist()) for _ in range(40)]
    found = []
    for exact in (False, True):
        sessions = Sessions(scorer_graphs(model, fast, exact), model.tables())
        found.append(np.array(sessions.compare(sessions.encode(pairs), [*range(40)])))
    differences = np.abs(found[0] - found[1]).max((0, 2, 3))  # of each pair
    assert found[0].std() > 0.05 and differences.any()
    assert np.median(differences) < 1e-5 and differences.max() < 0.2  # in some, an integer is another one
