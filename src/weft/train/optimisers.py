"""Muon for the matrices of the layers, AdamW for everything else; both can be captured in a CUDA graph.

Muon (Jordan et al., 2024) replaces the momentum of a matrix by the nearest matrix with orthonormal rows or columns, so
that an update moves all directions alike. The step is scaled so that its entries are about as large as those of AdamW
(Liu et al., 2025), and both use one learning rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from weft.config import TrainingConfig


def make_optimisers(module: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """The optimisers of a module's trainable parameters; each has its learning rate as a tensor, set by the loop."""
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    embeddings = {id(part.weight) for part in module.modules() if isinstance(part, nn.Embedding)}
    for parameter in module.parameters():
        if parameter.requires_grad:
            is_matrix = parameter.dim() == 2 and id(parameter) not in embeddings
            (matrices if is_matrix and config.optimiser == "muon" else others).append(parameter)
    device = next(module.parameters()).device

    def rate() -> Tensor:
        return torch.zeros((), device=device)

    decayed = [parameter for parameter in others if parameter.dim() == 2]
    plain = [parameter for parameter in others if parameter.dim() != 2]
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=rate(), betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    if not matrices:
        return [adamw]
    return [adamw, Muon(matrices, rate(), config.weight_decay)]


class Muon(torch.optim.Optimizer):
    """Momentum orthogonalised by Newton-Schulz iterations, all matrices of one shape at once."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], lr: Tensor, weight_decay: float, momentum: float = 0.95
    ) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["momentum"] = torch.zeros_like(parameter)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: defaultdict[torch.Size, list[nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                by_shape[parameter.shape].append(parameter)
            for parameters in by_shape.values():
                gradients = [parameter.grad for parameter in parameters]
                momenta = [self.state[parameter]["momentum"] for parameter in parameters]
                torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
                nesterov = torch._foreach_lerp(gradients, momenta, group["momentum"])
                steps = orthogonalise(torch.stack(nesterov))
                torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_sub_(parameters, list((steps * group["lr"]).to(parameters[0].dtype)))


def orthogonalise(matrices: Tensor, iterations: int = 5) -> Tensor:
    """The matrices (count, rows, columns) with all singular values moved near 1, scaled to AdamW's size of step.

    X ← aX + b(XXᵀ)X + c(XXᵀ)²X with Jordan's coefficients. A tall matrix is several projections stacked (query, key and
    value, say): its square parts are orthogonalised one by one.
    """
    count, rows, columns = matrices.shape
    if rows > columns and rows % columns == 0:
        return orthogonalise(matrices.reshape(-1, columns, columns), iterations).reshape(matrices.shape)
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    if rows > columns:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = a * x + torch.baddbmm(gram, gram, gram, beta=b, alpha=c) @ x
    if rows > columns:
        x = x.mT
    return x * (0.2 * max(rows, columns) ** 0.5)
