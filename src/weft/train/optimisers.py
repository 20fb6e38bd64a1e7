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

_STEP_SIZE = 0.2  # root mean square of the entries of an AdamW update, which Muon's are scaled to (Liu et al., 2025)
_SMALLEST_NORM = 1e-7  # added to norms before they are divided by


def make_optimisers(module: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """Return the optimisers of a module's trainable parameters; their learning rates are tensors, set by the loop."""
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
        [group for group in groups if group["params"]],
        lr=rate(),
        betas=(0.9, 0.98),
        eps=1e-9,
        fused=True,
        capturable=device.type == "cuda",
    )
    if not matrices:
        return [adamw]
    return [adamw, Muon(matrices, rate(), config.weight_decay)]


class Muon(torch.optim.Optimizer):
    """Momentum orthogonalised by Newton-Schulz iterations, in one batch for all matrices.

    Matrices are cut into squares: a tall one is several projections stacked anyway (query, key and value, say).
    """

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
            by_shape: defaultdict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape[_squares(parameter)[0].shape].append(parameter)
            for shape, parameters in by_shape.items():
                gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
                momenta = [self.state[parameter]["momentum"] for parameter in parameters]
                torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
                nesterov = torch._foreach_lerp(gradients, momenta, group["momentum"])
                squares = [square for matrix in nesterov for square in _squares(matrix)]
                steps = orthogonalise(torch.stack(squares)) * (group["lr"] * _STEP_SIZE * max(shape) ** 0.5)
                torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
                counts = [len(_squares(parameter)) for parameter in parameters]
                whole = map(_assemble, steps.split(counts), parameters)
                torch._foreach_sub_(parameters, list(whole))


def _squares(matrix: Tensor) -> tuple[Tensor, ...]:
    """Return views of the square parts of a matrix; one that cannot be cut into squares stays whole."""
    side = min(matrix.shape)
    cut = max(matrix.shape) % side == 0
    return matrix.split(side, dim=0 if matrix.shape[0] > side else 1) if cut else (matrix,)


def _assemble(squares: Tensor, like: Tensor) -> Tensor:
    """Undo ``_squares``."""
    if like.shape[0] < like.shape[1]:
        squares = squares.transpose(0, 1)
    return squares.reshape(like.shape)


def orthogonalise(matrices: Tensor, iterations: int = 5) -> Tensor:
    """Move all singular values of matrices (count, rows, columns) near 1.

    X ← aX + b(XXᵀ)X + c(XXᵀ)²X with Jordan's coefficients, from X / ‖X‖.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + _SMALLEST_NORM)
    for _ in range(iterations):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.to(matrices.dtype)
