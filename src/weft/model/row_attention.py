"""Attention within short rows as one GPU kernel each way.

A row of up to 128 tokens fits into one tile, so a program that owns one head of one row needs no loop: it reads
queries, keys and values once, keeps the whole score matrix in registers, and in the backward pass makes all three
gradients at once. Flash attention, made for long sequences, reads the same data several times here.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils._triton import has_triton_package

LONGEST_ROW = 128
HAS_TRITON = has_triton_package()


def row_attention_fits(query: Tensor, key: Tensor) -> bool:
    """Whether the kernel can do it: on a GPU, in bfloat16, one tile per row."""
    return (
        query.is_cuda
        and query.dtype == torch.bfloat16
        and max(query.shape[1], key.shape[1]) <= LONGEST_ROW
        and query.shape[3] in (16, 32, 64)
        and HAS_TRITON
    )


@torch.library.custom_op("weft::row_attention", mutates_args=())
def _forward(
    query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    from weft.model.kernels import launch_forward

    return launch_forward(query, key, value, query_segments, key_segments, causal)


@_forward.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool):
    rows, length, heads, _ = query.shape
    context = query.new_empty(query.shape)
    return context, query.new_empty((rows, heads, length), dtype=torch.float32)


@torch.library.custom_op("weft::row_attention_backward", mutates_args=())
def _backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_segments: Tensor,
    key_segments: Tensor,
    normaliser: Tensor,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    from weft.model.kernels import launch_backward

    return launch_backward(gradient, query, key, value, query_segments, key_segments, normaliser, causal)


@_backward.register_fake
def _(gradient, query, key, value, query_segments, key_segments, normaliser, causal):
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)


def _save(ctx, inputs, output) -> None:
    query, key, value, query_segments, key_segments, ctx.causal = inputs
    ctx.save_for_backward(query, key, value, query_segments, key_segments, output[1])


def _differentiate(ctx, gradient: Tensor, _: Tensor):
    return *_backward(gradient, *ctx.saved_tensors, ctx.causal), None, None, None


_forward.register_autograd(_differentiate, setup_context=_save)


def row_attention(
    query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool
) -> Tensor:
    """``layers.attend`` for rows of at most 128 tokens; (batch, position, heads, head) in and out."""
    return _forward(query, key, value, query_segments, key_segments, causal)[0]
