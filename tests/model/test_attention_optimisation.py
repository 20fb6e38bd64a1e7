"""Attention optimisation: its gradient, its start, what it improves, and that neighbours don't matter."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from weft.config import PRESETS, AlignmentConfig, GuidedConfig, OptimisationConfig
from weft.model.alignment_layers import AlignmentLayer, Features, GuidedLayer, frozen_features
from weft.model.attention_optimisation import Predictor, initial_logits, optimise_attention
from weft.model.rows import PairRows, Rows, masked_softmax
from weft.model.translation import TranslationModel

TARGET, SOURCE = [[5, 6, 7, 1, 8, 9, 1, 0]], [[12, 13, 1, 14, 15, 16, 1]]


@pytest.fixture
def models() -> list[TranslationModel]:
    torch.manual_seed(2)
    return [TranslationModel(PRESETS["tiny"], 30).double().eval() for _ in range(2)]


@pytest.fixture
def layers() -> list[AlignmentLayer]:
    torch.manual_seed(3)
    return [AlignmentLayer(64, AlignmentConfig(hidden=32)).double().eval() for _ in range(2)]


def both_directions(
    models: list[TranslationModel],
    layers: list[AlignmentLayer],
    target_ids: list[list[int]],
    source_ids: list[list[int]],
) -> tuple[Tensor, Tensor, Tensor, Predictor, Predictor]:
    """Both layers' logits, the cells, and what each direction predicts with."""
    target, source = Rows.of(torch.tensor(target_ids)), Rows.of(torch.tensor(source_ids))
    logits, predictors = [], []
    for model, layer, (to, of) in zip(models, layers, ((target, source), (source, target)), strict=True):
        found, values = layer.logits_and_values(frozen_features(model, of, to, model.encode(of)))
        logits.append(found.double().detach())
        predictors.append(Predictor(layer, values.detach(), model.table.detach(), to, of))
    return logits[0], logits[1], PairRows(source, target).cells(), predictors[0], predictors[1]


def total_loss(logits: Tensor, cells: Tensor, forward: Predictor, backward: Predictor, weight: float) -> Tensor:
    return forward.loss(masked_softmax(logits, cells, 2), weight, 2) + backward.loss(
        masked_softmax(logits, cells, 1).mT, weight, 2
    )


def test_a_step_follows_the_gradient(models: list[TranslationModel], layers: list[AlignmentLayer]) -> None:
    forward_logits, backward_logits, cells, forward, backward = both_directions(models, layers, TARGET, SOURCE)
    logits = initial_logits(forward_logits, backward_logits, cells, "logits")
    moved = optimise_attention(
        logits, cells, forward, backward, OptimisationConfig(steps=1, step_size=1.0, contiguity=0.7)
    )
    slope = logits - moved
    for place in ((0, 0, 0), (0, 1, 2), (0, 3, 1), (0, 5, 4), (0, 6, 6)):
        change = torch.zeros_like(logits)
        change[place] = 1e-2  # losses are summed in single precision
        losses = [total_loss(logits + sign * change, cells, forward, backward, 0.7) for sign in (1, -1)]
        assert slope[place].item() == pytest.approx(((losses[0] - losses[1]) / 2e-2).item(), rel=2e-3, abs=1e-3)
    assert (slope[~cells] == 0).all()


def test_steps_lower_the_loss(models: list[TranslationModel], layers: list[AlignmentLayer]) -> None:
    forward_logits, backward_logits, cells, forward, backward = both_directions(models, layers, TARGET, SOURCE)
    logits = initial_logits(forward_logits, backward_logits, cells, "log-probabilities")
    losses = [
        total_loss(
            optimise_attention(logits, cells, forward, backward, OptimisationConfig(steps, 0.1, 1.0)),
            cells, forward, backward, 1.0,
        ).item()
        for steps in (0, 1, 3, 8)
    ]  # fmt: skip
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] - 0.01


def test_the_start_is_the_mean_of_both_directions() -> None:
    forward, backward = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[0.0, 1.0], [2.0, 5.0]]])
    cells = torch.ones(1, 2, 2, dtype=torch.bool)
    assert initial_logits(forward, backward, cells, "logits").tolist() == [[[0.5, 2.0], [2.0, 4.5]]]
    found = initial_logits(forward, backward, cells, "log-probabilities")
    torch.testing.assert_close(found, (forward.log_softmax(2) + backward.log_softmax(2).mT) / 2)


def test_neighbours_and_padding_change_nothing(models: list[TranslationModel], layers: list[AlignmentLayer]) -> None:
    def optimised(target: list[list[int]], source: list[list[int]]) -> Tensor:
        forward_logits, backward_logits, cells, forward, backward = both_directions(models, layers, target, source)
        logits = initial_logits(forward_logits, backward_logits, cells, "logits")
        return optimise_attention(logits, cells, forward, backward, OptimisationConfig(3, 0.5, 5.0))

    packed = optimised(TARGET, SOURCE)
    torch.testing.assert_close(packed[:, :4, :3], optimised([[5, 6, 7, 1]], [[12, 13, 1]]), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(packed[:, 4:7, 3:], optimised([[8, 9, 1]], [[14, 15, 16, 1]]), rtol=1e-4, atol=1e-4)


def test_layers_have_the_papers_size_and_leave_translation_alone(models: list[TranslationModel]) -> None:
    def size(layer: nn.Module) -> int:
        return sum(parameter.numel() for parameter in layer.parameters())

    assert size(AlignmentLayer(256, AlignmentConfig())) == 6 * 256**2 + 512 + 5 * 512
    assert size(GuidedLayer(256, GuidedConfig(own_word=True))) == 6 * 256**2 + 5 * 512

    model = models[0]
    target, source = Rows.of(torch.tensor(TARGET)), Rows.of(torch.tensor(SOURCE))
    before = model(source, target)
    layer = AlignmentLayer(64, AlignmentConfig()).double()
    with torch.no_grad():
        encoded = model.encode(source)
    logits, values = layer.logits_and_values(frozen_features(model, source, target, encoded))
    layer.predict(masked_softmax(logits, PairRows(source, target).cells(), 2).double(), values).sum().backward()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.equal(model(source, target), before)


@pytest.mark.parametrize(
    "config", [GuidedConfig(own_word=True), GuidedConfig(whole_target=True, heads=8), GuidedConfig(positions=True)]
)
def test_the_guided_layer_sees_the_whole_target_sentence_and_no_other(
    models: list[TranslationModel], config: GuidedConfig
) -> None:
    torch.manual_seed(1)
    layer = GuidedLayer(64, config).double().eval()

    def logits(target_ids: list[list[int]]) -> Tensor:
        target, source = Rows.of(torch.tensor(target_ids)), Rows.of(torch.tensor(SOURCE))
        encoded, read = models[0].encode(source), models[1].encode(target)
        features: Features = frozen_features(models[0], source, target, encoded, read)
        return layer(features, target)

    first, changed = logits(TARGET), logits([[5, 6, 20, 1, 8, 9, 1, 0]])
    assert not torch.allclose(first[0, 0, :3], changed[0, 0, :3])  # a word after it has changed
    torch.testing.assert_close(first[0, 4:7, 3:], changed[0, 4:7, 3:])
