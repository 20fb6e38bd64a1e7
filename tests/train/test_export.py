"""The graph of the small aligner computes what torch computes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from tiny_runs import MODEL

from weft.align.onnx_aligner import Aligner
from weft.config import AlignerConfig, EncoderConfig
from weft.config_io import from_dict
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.train.export import measured_ranges, read_scorer, save_aligner, scorer_graph

FAST = EncoderConfig(layers=1, width=16, feed_forward=16, heads=2)
LENGTHS = [(5, 7), (9, 2), (1, 1), (8, 8)]


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentence pairs of different lengths, filled up."""
    generator = torch.Generator().manual_seed(seed)
    sides = []
    for side in (0, 1):
        ids = torch.zeros(len(LENGTHS), 10, dtype=torch.long)
        for row, lengths in enumerate(LENGTHS):
            ids[row, : lengths[side]] = torch.randint(2, 200, (lengths[side],), generator=generator)
            ids[row, lengths[side]] = 1
        sides.append(ids)
    return sides[0], sides[1]


@pytest.fixture
def scorer() -> Scorer:
    torch.manual_seed(4)
    scorer = Scorer(MODEL, 512, layers=2)
    fast = scorer.add_fast(FAST, 0.0)
    scorer.eval()
    for one in (scorer, fast):
        one.source.project.weight.data *= 4  # so that attention has something to say
    for side in (scorer.source, scorer.target):  # embeddings that eight bits hold exactly
        table = side.embedding.words.weight.data
        scale = table.abs().amax(1, keepdim=True) / 127
        table.copy_((table / scale).round() * scale)
    return scorer


def run(model: onnx.ModelProto, source: torch.Tensor, target: torch.Tensor, prefix: str = "") -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = [f"{prefix}{way}" for way in ("forward", "backward")]
    found = session.run(outputs, {"source": source.numpy(), "target": target.numpy()})
    return [np.asarray(one) for one in found]


def test_attention_is_that_of_torch(scorer: Scorer) -> None:
    source, target = batch(1)
    pair = PairRows.of(source, target)
    ranges = measured_ranges(scorer, [pair, PairRows.of(*batch(2))])
    graph = scorer_graph(scorer, ranges)
    cells = pair.cells().numpy()
    assert scorer.fast is not None
    for one, prefix in ((scorer, ""), (scorer.fast, "fast_")):
        for ours, theirs in zip(one.attention(pair), run(graph, source, target, prefix), strict=True):
            assert ours.numpy()[cells].std() > 0.1  # it has something to say
            assert np.abs(ours.numpy() - theirs)[cells].max() < 0.05


def test_both_scorers_share_their_embeddings(scorer: Scorer) -> None:
    graph = scorer_graph(scorer, measured_ranges(scorer, [PairRows.of(*batch(1))]))
    tables = [constant for constant in graph.graph.initializer if list(constant.dims) == [512, MODEL.width]]
    assert len(tables) == 2  # source and target


def test_what_was_learned_keeps_its_name(scorer: Scorer) -> None:
    graph = scorer_graph(scorer, measured_ranges(scorer, [PairRows.of(*batch(1))]))
    assert {name for name, _ in scorer.named_parameters()} <= {constant.name for constant in graph.graph.initializer}


def test_a_scorer_is_read_back_from_its_graph(scorer: Scorer, corpus: PreparedCorpus, tmp_path: Path) -> None:
    text = PairRows.of(*batch(1))
    save_aligner(tmp_path / "aligner", scorer, [text], corpus.subwords, 0.5)
    described = json.loads((tmp_path / "aligner" / "config.json").read_text())
    config = from_dict(AlignerConfig, described, "config.json")
    assert config.encoders == EncoderConfig(2, MODEL.width, MODEL.feed_forward, MODEL.heads) and config.fast == FAST
    read = read_scorer(tmp_path / "aligner" / "model.onnx", config, dropout=0.1).eval()
    assert read.fast is not None and scorer.fast is not None
    for one, other in ((read, scorer), (read.fast, scorer.fast)):
        for ours, theirs in zip(one.attention(text), other.attention(text), strict=True):
            assert (ours - theirs).abs().max() < 0.1  # seven bits
    with pytest.raises(WeftError, match="not the graph of encoders as"):
        read_scorer(tmp_path / "aligner" / "model.onnx", dataclasses.replace(config, fast=config.encoders), dropout=0.1)


def test_padding_and_neighbours_change_nothing(scorer: Scorer) -> None:
    source, target = batch(3)
    model = scorer_graph(scorer, measured_ranges(scorer, [PairRows.of(source, target)]))
    together = run(model, source, target)
    for row, (n, m) in enumerate(LENGTHS):
        alone = run(model, source[row : row + 1, : n + 1], target[row : row + 1, : m + 1])
        for whole, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[row, : m + 1, : n + 1], single[0], atol=1e-5)


def test_a_model_folder_is_checked(scorer: Scorer, corpus: PreparedCorpus, tmp_path: Path) -> None:
    folder = tmp_path / "aligner"
    save_aligner(folder, scorer, [PairRows.of(*batch(1))], corpus.subwords, 0.2)
    aligner = Aligner(folder)
    assert aligner.threshold == 0.2 and aligner.subwords.text == corpus.config.text
    with pytest.raises(WeftError, match=r"sentence pair 2: a sentence of 2,000 pieces"):
        list(aligner.align([(["dog"], ["kuno-la"]), (["."] * 2000, ["."])]))
    for name, message in {
        "model.onnx": "damaged or truncated",
        "tokenizer.json": "not a tokenizer file",
        "config.json": "damaged",
    }.items():
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(WeftError, match=message):
            Aligner(folder)
        (folder / name).write_bytes(content)
    (folder / "config.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(WeftError, match="not of the format 'weft aligner 1'"):
        Aligner(folder)


def test_a_scorer_without_a_fast_one(corpus: PreparedCorpus, tmp_path: Path) -> None:
    save_aligner(tmp_path / "aligner", Scorer(MODEL, 512, 1).eval(), [PairRows.of(*batch(1))], corpus.subwords, 0.2)
    with pytest.raises(WeftError, match="no fast encoders; leave out --fast"):
        Aligner(tmp_path / "aligner", fast=True)
