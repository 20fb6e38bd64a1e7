"""Aligning with torch, by systems and scorers that have learned nothing: shapes, defaults, empty sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from weft.align import batched_aligner
from weft.align.alignment import Alignment
from weft.align.model_folder import shipped_models
from weft.align.onnx_aligner import Aligner
from weft.cli.show import system_panels
from weft.config import PRESETS, AlignmentConfig, Direction, OptimisationConfig
from weft.corpus.prepared import PreparedCorpus
from weft.errors import WeftError
from weft.model.system import AlignmentSystem
from weft.model.torch_aligner import BEST_MERGE, TorchAligner, scorer_aligner, system_aligner, word_attention
from weft.model.translation import TranslationModel

PAIRS = [
    tuple(line.split("\t")[:2])
    for line in (Path(__file__).parents[1] / "ordinary" / "ro-en.tsv").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def folder(corpus: PreparedCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole system with random weights and without guided layers."""
    torch.manual_seed(0)
    shape = PRESETS["tiny"]
    models: dict[Direction, TranslationModel] = {
        "forward": TranslationModel(shape, len(corpus.subwords)),
        "backward": TranslationModel(shape, len(corpus.subwords)),
    }
    one, both = OptimisationConfig(steps=1), OptimisationConfig(steps=1)
    system = AlignmentSystem.on_top_of(models, corpus.subwords, AlignmentConfig(), one, both, None)
    folder = tmp_path_factory.mktemp("system") / "model"
    system.save(folder, {})
    return folder


def test_a_system_aligns_by_its_best_method_and_the_merge_that_suits_it(folder: Path) -> None:
    aligner = system_aligner(folder, "cpu")
    assert aligner.merge == BEST_MERGE["bidirectional"] == "best-cells"
    assert system_aligner(folder, "cpu", "optimised").merge == "grow-diag"
    pair = (["the", "old", "king"], ["regu-la", "vetu"])
    (alignment,) = aligner.align([pair])
    assert 1 <= len(alignment.links) <= 6 and alignment.source.words == pair[0]
    (turned,) = system_aligner(folder, "cpu", reverse=True).align([pair[::-1]])
    assert turned == alignment.reversed()
    with pytest.raises(WeftError, match="has no guided layers; its methods are forward-pass, optimised, bidirectional"):
        system_aligner(folder, "cpu", "guided")


def test_links_do_not_depend_on_the_pairs_beside_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = AlignmentSystem.load(folder, torch.device("cpu"))
    sentences = [
        " ".join(["the old king", "regu-la vetu", "x"][: 1 + number % 3] * (1 + number % 5)) for number in range(20)
    ]
    pairs = list(zip(sentences, reversed(sentences), strict=True))

    def alignments(batch_tokens: int, cells: int) -> list[Alignment]:
        monkeypatch.setattr(batched_aligner, "LINK_CELLS", cells)
        attend = system.attend("forward-pass")
        aligner = TorchAligner(attend, system.subwords, system.device, "grow-diag", 0.0, batch_tokens=batch_tokens)
        return list(aligner.align(pairs))

    whole = alignments(8_000, 1_000_000)
    assert any(one.links for one in whole)
    for batch_tokens, cells in ((8_000, 1), (200, 1_000_000), (200, 700), (1, 1)):
        for one, other in zip(whole, alignments(batch_tokens, cells), strict=True):
            assert one.links == other.links and one.score == pytest.approx(other.score, abs=1e-5)


def test_empty_sides_have_no_attention(folder: Path) -> None:
    system = AlignmentSystem.load(folder, torch.device("cpu"))
    for source, target in (([], ["a", "b"]), (["a"], []), ([], [])):
        forward, backward = word_attention(system, (source, target), system.attend("bidirectional"))
        assert forward.shape == backward.shape == (len(target), len(source)) and not np.any(forward)
        assert [panel.links for panel in system_panels(system, (source, target))] == [frozenset()] * 3


@pytest.mark.parametrize("fast", [False, True])
def test_a_scorer_in_torch_links_the_same_words_as_in_eight_bits(fast: bool) -> None:
    folder = shipped_models()["ro-en"]
    aligners = (scorer_aligner(folder, "cpu", fast), Aligner(folder, fast=fast))
    ours, theirs = (list(aligner.align(PAIRS)) for aligner in aligners)  # pyrefly: ignore
    same = sum(len(one.links & other.links) for one, other in zip(ours, theirs, strict=True))
    assert same > 0.97 * max(sum(len(one.links) for one in side) for side in (ours, theirs))
