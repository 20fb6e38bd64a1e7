"""The training loop: what it learns, how fast paths compare with plain ones, and its schedule."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import MODEL, TRAINING, Run, equal
from torch import Tensor, nn

from weft.config import TrainingConfig
from weft.corpus.packing import pack
from weft.corpus.prepared import PreparedCorpus
from weft.corpus.row_order import RowOrder
from weft.errors import WeftError
from weft.model.layers import DropoutKeys
from weft.model.losses import word_loss_reference
from weft.model.rows import Rows
from weft.model.translation import TranslationModel
from weft.train.loop import learning_rate
from weft.train.optimisers import make_optimisers, orthogonalise
from weft.train.runlog import read_metrics
from weft.train.stage_translate import TranslationTask
from weft.train.task import Sums


def reference_losses(corpus: PreparedCorpus, updates: int, optimiser: Literal["muon", "adamw"]) -> list[float]:
    """Training written plainly: fp32, no compilation, all logits at once, torch's own clipping."""
    config = TRAINING
    rows = pack(corpus.source, corpus.target, config.row_length, config.seed)
    order = RowOrder.for_budget(rows, config.target_tokens, config.seed)
    torch.manual_seed(config.seed)
    model = TranslationModel(MODEL, len(corpus.subwords)).train()
    keys = DropoutKeys(model, config.seed, 0, torch.device("cpu"))
    optimisers = make_optimisers(model, TrainingConfig(optimiser=optimiser))
    losses = []
    for update in range(updates):
        keys.set(update)
        source, target = (torch.from_numpy(side.astype("int64")) for side in rows.take(order.batch(update)))
        loss = (
            word_loss_reference(
                model(Rows.of(source), Rows.of(target)).flatten(0, 1),
                model.table,
                target.flatten(),
                config.label_smoothing,
            ).smoothed
            / (target != 0).sum()
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        rate = min((update + 1) / config.warm_up, 1 - update / updates) * config.learning_rate
        for one in optimisers:
            for group in one.param_groups:
                group["lr"].fill_(rate)
            one.step()
            one.zero_grad()
        losses.append(loss.item())
    return losses


def logged_losses(folder: Path) -> list[float]:
    return [line["loss"] for line in read_metrics(folder / "forward" / "metrics.jsonl")]


@pytest.mark.parametrize("optimiser", ["muon", "adamw"])
def test_200_updates_equal_a_plain_reference(
    run: Run, corpus: PreparedCorpus, tmp_path: Path, optimiser: Literal["muon", "adamw"]
) -> None:
    run(updates=200, log_every=1, optimiser=optimiser)
    expected = reference_losses(corpus, 200, optimiser)
    assert logged_losses(tmp_path / "run") == pytest.approx(expected, rel=2e-3)
    assert expected[-1] < 0.6 * expected[0]


@pytest.mark.filterwarnings("ignore")  # torch's compiler warns about itself
def test_200_compiled_updates_equal_plain_ones(run: Run, tmp_path: Path) -> None:
    run("plain", updates=200)
    run("compiled", updates=200, compile="yes")
    assert logged_losses(tmp_path / "compiled") == pytest.approx(logged_losses(tmp_path / "plain"), rel=2e-3)


def test_200_half_precision_updates_are_close_to_full_ones(run: Run, tmp_path: Path) -> None:
    run("full", updates=200)
    run("half", updates=200, precision="bfloat16")
    assert logged_losses(tmp_path / "half") == pytest.approx(logged_losses(tmp_path / "full"), rel=2e-2)


def test_the_final_model_can_be_the_mean_of_the_last_checkpoints(run: Run, tmp_path: Path) -> None:
    mean = run(average=3)
    paths = sorted((tmp_path / "run" / "forward").glob("checkpoint-*.safetensors"))
    assert [path.name[11:19] for path in paths] == ["00000010", "00000020", "00000030"]
    checkpoints = [load_file(path) for path in paths]
    for name, weight in mean.items():
        expected = torch.stack([checkpoint[f"model.{name}"] for checkpoint in checkpoints]).mean(0)
        torch.testing.assert_close(weight, expected)
    assert not equal(mean, run("last"))


def test_a_model_that_is_not_trained_has_no_checkpoints_to_average(run: Run) -> None:
    assert equal(run("averaged", updates=0, average=2), run("plain", updates=0))


def test_a_time_budget_ends_training_and_brings_the_rate_to_zero(run: Run, tmp_path: Path) -> None:
    run(updates=10**9, minutes=0.05, log_every=1)
    lines = read_metrics(tmp_path / "run" / "forward" / "metrics.jsonl")
    assert lines[-1]["seconds"] >= 3 > lines[-2]["seconds"]
    assert lines[-1]["learning_rate"] < 0.5 * max(line["learning_rate"] for line in lines)


@pytest.mark.parametrize(("log_every", "factor"), [(7, "nan"), (1_000, "nan"), (7, "inf")])
def test_a_loss_that_is_no_number_ends_training_and_keeps_the_last_checkpoint(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_every: int, factor: str
) -> None:
    sums, updates = TranslationTask.sums, itertools.count(1)

    def spoilt(task: TranslationTask, batch: Sequence[Tensor]) -> Sums:
        found = sums(task, batch)
        return found._replace(loss=found.loss * float(factor)) if next(updates) == 15 else found

    monkeypatch.setattr(TranslationTask, "sums", spoilt)
    with pytest.raises(WeftError, match=r"no longer a finite number by update (20|21); the checkpoint of update 10 is"):
        run(log_every=log_every)
    folder = tmp_path / "run" / "forward"
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-00000010.safetensors"]
    assert all(weight.isfinite().all() for weight in load_file(next(folder.glob("checkpoint-*"))).values())
    assert all(line["loss"] < 100 for line in read_metrics(folder / "metrics.jsonl"))
    assert not (folder / "finished.json").exists()


def test_schedule() -> None:
    assert learning_rate(0.0, 0, warm_up=4) == 0.25
    assert learning_rate(0.1, 3, warm_up=4) == 0.9
    assert learning_rate(0.75, 750, warm_up=4) == 0.25
    assert learning_rate(1.2, 1200, warm_up=4) == 0
    assert learning_rate(0.0, 0, warm_up=0) == 1


def singular_values(matrices: Tensor) -> Tensor:
    return torch.linalg.svdvals(matrices)


def test_orthogonalise_moves_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((3, 32, 32), (2, 16, 64)):
        matrices = torch.randn(shape)
        values = singular_values(orthogonalise(matrices))
        assert values.max() < 1.3 and values.median() > 0.65


@pytest.mark.parametrize("feed_forward", [50, 64, 96])
def test_muon_moves_matrices_of_any_shape_by_steps_of_one_size(feed_forward: int) -> None:
    torch.manual_seed(0)
    model = TranslationModel(dataclasses.replace(MODEL, feed_forward=feed_forward), 50)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    _, muon = make_optimisers(model, dataclasses.replace(TRAINING, weight_decay=0.0))
    muon.param_groups[0]["lr"].fill_(0.01)
    muon.step()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and "embedding" not in name:
            size = (parameter - before[name]).square().mean().sqrt().item()
            assert 0.0008 < size < 0.003, name  # about 0.2 of the learning rate, whatever the shape


def test_muon_takes_matrices_and_adamw_the_rest() -> None:
    model = TranslationModel(MODEL, 50)
    adamw, muon = make_optimisers(model, TRAINING)
    muon_parameters = {id(parameter) for group in muon.param_groups for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        is_layer_matrix = parameter.dim() == 2 and "embedding" not in name
        assert (id(parameter) in muon_parameters) == is_layer_matrix, name
    assert len(make_optimisers(model, TrainingConfig(optimiser="adamw"))) == 1
    assert sum(len(group["params"]) for group in adamw.param_groups) + len(muon_parameters) == len(
        list(model.parameters())
    )
