"""The translation model: its size, and that a sentence's loss is its own affair."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from weft.config import PRESETS
from weft.model.losses import word_loss_reference
from weft.model.rows import Rows
from weft.model.translation import TranslationModel, decoder_input


def model_of(vocabulary: int = 50) -> TranslationModel:
    torch.manual_seed(3)
    return TranslationModel(PRESETS["tiny"], vocabulary).eval()


def parameter_count(model: TranslationModel) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_paper_preset_has_the_papers_size() -> None:
    config = PRESETS["paper"]
    assert dataclasses.astuple(config) == (256, 512, 8, 6, 3, 0.1)
    with torch.device("meta"):
        model = TranslationModel(config, 40_258)
    encoder = 6 * (4 * 256**2 + 2 * 256 * 512 + 512 + 256 + 4 * 256)
    decoder = 3 * (8 * 256**2 + 2 * 256 * 512 + 512 + 256 + 6 * 256)
    assert parameter_count(model) == 40_320 * 256 + encoder + decoder + 4 * 256  # 15.8 million


def test_base_preset_is_a_base_transformer() -> None:
    with torch.device("meta"):
        model = TranslationModel(PRESETS["base"], 40_258)
    assert 62e6 < parameter_count(model) < 66e6  # 44 million in the layers and one table of 512 × 40,320


def test_decoder_input_is_one_place_to_the_right() -> None:
    labels = torch.tensor([[7, 8, 1, 9, 1, 0]])
    assert decoder_input(labels).tolist() == [[1, 7, 8, 1, 9, 1]]


def sentence_losses(model: TranslationModel, source: list[list[int]], target: list[list[int]]) -> list[float]:
    """−log p per token of a batch of rows."""
    states = model(Rows.of(torch.tensor(source)), Rows.of(torch.tensor(target)))
    return [
        word_loss_reference(row, model.table, torch.tensor(labels), 0.1).smoothed.item()
        for row, labels in zip(states, target, strict=True)
    ]


@torch.no_grad()
def test_packing_padding_and_neighbours_do_not_change_a_sentences_loss() -> None:
    model = model_of()
    first = [5, 6, 7, 1], [8, 9, 1]
    second = [10, 11, 1], [12, 13, 14, 15, 1]
    alone = [sentence_losses(model, [source], [target])[0] for source, target in (first, second)]

    padded = sentence_losses(
        model,
        [first[0] + [0] * 5, second[0] + [0] * 6],
        [first[1] + [0] * 9, second[1] + [0] * 7],
    )
    assert padded == pytest.approx(alone, rel=1e-5)

    packed = sentence_losses(model, [first[0] + second[0] + [0, 0]], [first[1] + second[1]])
    assert packed[0] == pytest.approx(sum(alone), rel=1e-5)
    full = sentence_losses(model, [second[0] + first[0]], [second[1] + first[1] + [0, 0, 0]])  # no source padding
    assert full[0] == pytest.approx(sum(alone), rel=1e-5)


@torch.no_grad()
def test_predictions_do_not_see_the_words_they_predict() -> None:
    model = model_of()
    source = Rows.of(torch.tensor([[5, 6, 7, 1]]))
    before = model(source, Rows.of(torch.tensor([[8, 9, 10, 1]])))
    after = model(source, Rows.of(torch.tensor([[8, 9, 20, 1]])))
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])
