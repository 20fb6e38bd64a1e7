"""Attention within short rows as one GPU kernel forward and one backward.

A row of up to 128 tokens fits into one tile, so a program that owns one head of one row reads keys and values once and
keeps its score matrix in registers; in the backward pass it makes all three gradients at once. Flash attention, made
for long sequences, reads the same data several times here.

The kernels read the projections of a layer, and write their gradients, where and as the layer's matrix products leave
and expect them: queries, keys and values of a token side by side.
"""

from __future__ import annotations

import importlib.util

import torch
from torch import Tensor

LONGEST_ROW = 128
HAS_TRITON = importlib.util.find_spec("triton") is not None


def projections(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, each (batch, position, heads, head).

    In self-attention they are the three parts of ``first`` (batch, position, 3, heads, head); else ``first`` is
    (batch, query, 1, heads, head) and ``second`` (batch, key, 2, heads, head).
    """
    query, key, value = first.unbind(2) if first.shape[2] == 3 else (first[:, :, 0], *second.unbind(2))
    return query, key, value


def row_attention_fits(first: Tensor, second: Tensor) -> bool:
    """Tell whether the kernel fits: on a GPU, in bfloat16 (nothing asks for it on GPUs without), one tile per row."""
    return (
        first.is_cuda
        and first.dtype == torch.bfloat16
        and max(first.shape[1], second.shape[1]) <= LONGEST_ROW
        and first.shape[-1] in (16, 32, 64)
        and HAS_TRITON
    )


@torch.library.custom_op("weft::row_attention", mutates_args=())
def _forward(
    first: Tensor, second: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    from weft.model.kernels import launch_forward

    return launch_forward(*projections(first, second), query_segments, key_segments, causal)


@_forward.register_fake
def _(first: Tensor, second: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool):
    rows, length, _, heads, head = first.shape
    context = first.new_empty((rows, length, heads, head))
    return context, first.new_empty((rows, heads, length), dtype=torch.float32)


@torch.library.custom_op("weft::row_attention_backward", mutates_args=())
def _backward(
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    query_segments: Tensor,
    key_segments: Tensor,
    normaliser: Tensor,
    causal: bool,
) -> tuple[Tensor, Tensor]:
    from weft.model.kernels import launch_backward

    first_gradient, second_gradient = _gradients_like(first, second)
    launch_backward(
        gradient,
        projections(first, second),
        query_segments,
        key_segments,
        normaliser,
        causal,
        projections(first_gradient, second_gradient),
    )
    return first_gradient, second_gradient


@_backward.register_fake
def _(gradient, first, second, query_segments, key_segments, normaliser, causal):
    return _gradients_like(first, second)


def _gradients_like(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return room for the gradients; that of self-attention is all in the first."""
    second_shape = (0,) if first.shape[2] == 3 else second.shape
    return first.new_empty(first.shape), second.new_empty(second_shape)


def _save(ctx, inputs, output) -> None:
    first, second, query_segments, key_segments, ctx.causal = inputs
    ctx.save_for_backward(first, second, query_segments, key_segments, output[1])


def _differentiate(ctx, gradient: Tensor, _: Tensor):
    first_gradient, second_gradient = _backward(gradient, *ctx.saved_tensors, ctx.causal)
    return first_gradient, second_gradient if second_gradient.numel() else None, None, None, None


_forward.register_autograd(_differentiate, setup_context=_save)


def row_attention(first: Tensor, second: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool) -> Tensor:
    """Compute ``layers.attend`` for rows of at most 128 tokens."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return _forward(first, second, query_segments, key_segments, causal)[0]
    from weft.model.kernels import launch_forward  # the first call of a custom operator imports torch's compiler: 2 s

    return launch_forward(*projections(first, second), query_segments, key_segments, causal)[0]
