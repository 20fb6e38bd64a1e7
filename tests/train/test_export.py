"""The exported aligner computes what torch computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from weft.align.model_folder import encoder_names, read_aligner
from weft.align.onnx_aligner import Aligner, Sessions
from weft.align.onnx_graph import scorer_graphs
from weft.config import EncoderConfig
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.rows import PairRows
from weft.model.scorer import Scorer
from weft.text.subwords import END
from weft.train.export import measured_ranges, save_aligner

SHAPE = EncoderConfig(layers=2, width=32, feed_forward=64, heads=4)
FAST = EncoderConfig(layers=1, width=16, feed_forward=16, heads=2)
LENGTHS = [(5, 7), (9, 2), (1, 1), (8, 8)]


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentence pairs of different lengths, padded."""
    generator = torch.Generator().manual_seed(seed)
    sides = []
    for side in (0, 1):
        ids = torch.zeros(len(LENGTHS), 10, dtype=torch.long)
        for row, lengths in enumerate(LENGTHS):
            ids[row, : lengths[side]] = torch.randint(2, 200, (lengths[side],), generator=generator)
            ids[row, lengths[side]] = 1
        sides.append(ids)
    return sides[0], sides[1]


@pytest.fixture(params=[False, True], ids=["two", "shared"])
def scorers(request: pytest.FixtureRequest) -> tuple[Scorer, Scorer]:
    torch.manual_seed(4)
    words = 512  # more than the subwords of the corpus, as translation models have
    scorer = Scorer(SHAPE, words, shared=request.param)
    fast = Scorer(FAST, scorer)
    for one in (scorer, fast):
        one.eval()
        one.encoders[0].project.weight.data *= 2 if one.shared else 4  # so that attention has something to say
    for table in set(scorer.tables):  # embeddings that eight bits hold exactly
        scale = table.weight.data.abs().amax(1, keepdim=True) / 127
        table.weight.data.copy_((table.weight.data / scale).round() * scale)
    return scorer, fast


def exported(folder: Path, scorers: tuple[Scorer, Scorer], corpus: PreparedCorpus, *texts: PairRows) -> Path:
    save_aligner(folder, *scorers, texts, corpus.subwords, 0.2)
    return folder


def attention(folder: Path, fast: bool, source: torch.Tensor, target: torch.Tensor) -> list[np.ndarray]:
    content = read_aligner(folder, fast)
    sessions = Sessions(scorer_graphs(content, fast), content.tables())
    source_ids, target_ids = ([row[row > END].tolist() for row in side] for side in (source, target))
    states = sessions.encode(list(zip(source_ids, target_ids, strict=True)))
    both = sessions.compare(states, list(range(len(source_ids))))
    return [one[:, : target.shape[1], : source.shape[1]] for one in both]


@pytest.mark.parametrize("fast", [False, True])
def test_attention_is_that_of_torch(
    scorers: tuple[Scorer, Scorer], corpus: PreparedCorpus, tmp_path: Path, fast: bool
) -> None:
    pair = PairRows.of(*batch(1))
    folder = exported(tmp_path / "aligner", scorers, corpus, pair, PairRows.of(*batch(2)))
    cells = pair.cells().numpy()
    for ours, theirs in zip(scorers[fast].attention(pair), attention(folder, fast, *batch(1)), strict=True):
        assert ours.numpy()[cells].std() > 0.1  # it has something to say
        difference = np.abs(ours.numpy() - theirs)[cells]
        assert difference.mean() < 0.01 and difference.max() < 0.15  # seven bits


def test_padding_and_neighbours_change_nothing(
    scorers: tuple[Scorer, Scorer], corpus: PreparedCorpus, tmp_path: Path
) -> None:
    source, target = batch(3)
    folder = exported(tmp_path / "aligner", scorers, corpus, PairRows.of(source, target))
    together = attention(folder, False, source, target)
    for row, (n, m) in enumerate(LENGTHS):
        alone = attention(folder, False, source[row : row + 1, : n + 1], target[row : row + 1, : m + 1])
        for whole, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[row, : m + 1, : n + 1], single[0], atol=1e-5)


def test_ranges_are_the_largest_over_all_text(scorers: tuple[Scorer, Scorer]) -> None:
    first, second = (PairRows.of(*batch(seed)) for seed in (1, 2))
    both, *single = (measured_ranges(scorers[0], text) for text in ([first, second], [first], [second]))
    for encoder in encoder_names(scorers[0].shared):
        assert {f"{encoder}.layers.1.feed_forward.2", f"{encoder}.project"} <= both.keys()
    assert both == {name: max(one[name] for one in single) for name in both}
    assert single[0] != single[1]


def test_a_folder_says_what_was_exported(
    scorers: tuple[Scorer, Scorer], corpus: PreparedCorpus, tmp_path: Path
) -> None:
    folder = exported(tmp_path / "aligner", scorers, corpus, PairRows.of(*batch(1)))
    config, subwords, arrays = read_aligner(folder)
    assert (config.encoders, config.fast, config.threshold, config.shared) == (SHAPE, FAST, 0.2, scorers[0].shared)
    assert subwords.spellings == corpus.subwords.spellings and subwords.text == corpus.config.text
    assert [len(table) for name, table in arrays.items() if "embedding.words.weight" in name] == [len(subwords)] * (
        2 if config.shared else 4
    )
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        (folder / "config.json").stat().st_mode & 0o777
    }
    aligner = Aligner(folder)
    assert aligner.threshold == 0.2
    with pytest.raises(WeftError, match=r"sentence pair 2: a sentence of 2,000 pieces"):
        list(aligner.align([(["dog"], ["kuno-la"]), (["."] * 2000, ["."])]))


def test_a_scorer_without_a_fast_one(scorers: tuple[Scorer, Scorer], corpus: PreparedCorpus, tmp_path: Path) -> None:
    save_aligner(tmp_path / "aligner", scorers[0], None, [PairRows.of(*batch(1))], corpus.subwords, 0.2)
    Aligner(tmp_path / "aligner")
    with pytest.raises(WeftError, match="no fast encoders"):
        Aligner(tmp_path / "aligner", fast=True)
