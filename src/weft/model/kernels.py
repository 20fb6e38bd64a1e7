"""Triton kernels behind ``row_attention`` and ``linear_word_loss``; imported only where there is a GPU."""

# Kernels are written in Triton's language, which only looks like Python to a type checker.
# pyrefly: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _load(pointer, row, head, stride_row, stride_place, stride_head, length, L: tl.constexpr, D: tl.constexpr):
    """The (L, D) tile of one head of one row."""
    place = tl.arange(0, L)[:, None]
    column = tl.arange(0, D)[None, :]
    offsets = row * stride_row + place * stride_place + head * stride_head + column
    return tl.load(pointer + offsets, mask=place < length, other=0.0)


@triton.jit
def _store(pointer, tile, row, head, heads, length, L: tl.constexpr, D: tl.constexpr):
    """Write a tile to a contiguous (rows, length, heads, D) tensor."""
    place = tl.arange(0, L)[:, None]
    column = tl.arange(0, D)[None, :]
    offsets = ((row * length + place) * heads + head) * D + column
    tl.store(pointer + offsets, tile.to(pointer.dtype.element_ty), mask=place < length)


@triton.jit
def _scores(
    query, key, query_segments, key_segments, row, queries, keys, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Masked scores in units of log 2. (Q, K)"""
    query_place = tl.arange(0, Q)
    key_place = tl.arange(0, K)
    query_segment = tl.load(query_segments + row * queries + query_place, mask=query_place < queries, other=0)
    key_segment = tl.load(key_segments + row * keys + key_place, mask=key_place < keys, other=-1)
    query_segment = tl.maximum(query_segment, 0)
    visible = query_segment[:, None] == key_segment[None, :]
    if causal:
        visible = visible & (query_place[:, None] >= key_place[None, :])
    scores = tl.dot(query, tl.trans(key)) * (scale * LOG2_E)
    return tl.where(visible, scores, float("-inf"))


@triton.jit
def _forward_kernel(
    query, key, value, query_segments, key_segments, context, normaliser,
    q_row, q_place, q_head, k_row, k_place, k_head, v_row, v_place, v_head,
    queries, keys, heads, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    q = _load(query, row, head, q_row, q_place, q_head, queries, Q, D)
    k = _load(key, row, head, k_row, k_place, k_head, keys, K, D)
    v = _load(value, row, head, v_row, v_place, v_head, keys, K, D)
    scores = _scores(q, k, query_segments, key_segments, row, queries, keys, scale, causal, Q, K)
    highest = tl.max(scores, 1)
    weights = tl.exp2(scores - highest[:, None])
    total = tl.sum(weights, 1)
    result = tl.dot(weights.to(v.dtype), v) / total[:, None]
    _store(context, result, row, head, heads, queries, Q, D)
    place = tl.arange(0, Q)
    tl.store(normaliser + (row * heads + head) * queries + place, highest + tl.log2(total), mask=place < queries)


@triton.jit
def _backward_kernel(
    gradient, query, key, value, query_segments, key_segments, normaliser, query_gradient, key_gradient, value_gradient,
    g_row, g_place, g_head, q_row, q_place, q_head, k_row, k_place, k_head, v_row, v_place, v_head,
    queries, keys, heads, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    q = _load(query, row, head, q_row, q_place, q_head, queries, Q, D)
    k = _load(key, row, head, k_row, k_place, k_head, keys, K, D)
    v = _load(value, row, head, v_row, v_place, v_head, keys, K, D)
    g = _load(gradient, row, head, g_row, g_place, g_head, queries, Q, D)
    scores = _scores(q, k, query_segments, key_segments, row, queries, keys, scale, causal, Q, K)
    place = tl.arange(0, Q)
    normal = tl.load(normaliser + (row * heads + head) * queries + place, mask=place < queries, other=0.0)
    weights = tl.exp2(scores - normal[:, None])
    weights = tl.where((place < queries)[:, None], weights, 0.0)
    _store(value_gradient, tl.dot(tl.trans(weights.to(g.dtype)), g), row, head, heads, keys, K, D)
    pull = tl.dot(g, tl.trans(v))  # ∂loss/∂weights
    slope = weights * (pull - tl.sum(weights * pull, 1)[:, None]) * scale  # ∂loss/∂(Q·Kᵀ)
    slope = slope.to(q.dtype)
    _store(query_gradient, tl.dot(slope, k), row, head, heads, queries, Q, D)
    _store(key_gradient, tl.dot(tl.trans(slope), q), row, head, heads, keys, K, D)


def _tile(length: int) -> int:
    return max(16, triton.next_power_of_2(length))


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(3) == 1 else tensor.contiguous()


def launch_forward(
    query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    """The context vectors, and per query the logarithm (base 2) of the softmax's denominator."""
    query, key, value = _dense(query), _dense(key), _dense(value)
    rows, queries, heads, width = query.shape
    keys = key.shape[1]
    context = query.new_empty(query.shape)
    normaliser = query.new_empty((rows, heads, queries), dtype=torch.float32)
    _forward_kernel[(rows * heads,)](
        query, key, value, query_segments.contiguous(), key_segments.contiguous(), context, normaliser,
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
        queries, keys, heads, width**-0.5, causal, _tile(queries), _tile(keys), width, num_warps=4,
    )  # fmt: skip
    return context, normaliser


def launch_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor,
    normaliser: Tensor, causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of queries, keys and values."""
    gradient, query, key, value = _dense(gradient), _dense(query), _dense(key), _dense(value)
    rows, queries, heads, width = query.shape
    keys = key.shape[1]
    gradients = query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)
    _backward_kernel[(rows * heads,)](
        gradient, query, key, value, query_segments.contiguous(), key_segments.contiguous(), normaliser, *gradients,
        *gradient.stride()[:3], *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
        queries, keys, heads, width**-0.5, causal, _tile(queries), _tile(keys), width, num_warps=4,
    )  # fmt: skip
    return gradients


@triton.jit
def _word_loss_kernel(logits, labels, losses, size, padding, smoothing, BLOCK: tl.constexpr):
    """One row of logits: its losses, and in place of the logits the slope of the loss."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * size
    label = tl.load(labels + row)
    highest = -float("inf")
    total = 0.0
    plain_sum = 0.0
    for start in range(0, size, BLOCK):
        place = start + tl.arange(0, BLOCK)
        block = tl.load(logits + place, mask=place < size, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(block, 0))
        total = total * tl.exp2((highest - higher) * LOG2_E) + tl.sum(tl.exp2((block - higher) * LOG2_E), 0)
        plain_sum += tl.sum(tl.where(place < size, block, 0.0), 0)
        highest = higher
    normaliser = highest + tl.log(total)
    real = (label != padding).to(tl.float32)
    plain = normaliser - tl.load(logits + label).to(tl.float32)
    smoothed = (1 - smoothing) * plain + smoothing * (normaliser - plain_sum / size)
    tl.store(losses + 2 * row, smoothed * real)
    tl.store(losses + 2 * row + 1, plain * real)
    tl.debug_barrier()  # the label's logit must be read before it is overwritten
    for start in range(0, size, BLOCK):
        place = start + tl.arange(0, BLOCK)
        block = tl.load(logits + place, mask=place < size, other=0.0).to(tl.float32)
        slope = tl.exp2((block - normaliser) * LOG2_E) - smoothing / size
        slope -= tl.where(place == label, 1 - smoothing, 0.0)
        tl.store(logits + place, (slope * real).to(logits.dtype.element_ty), mask=place < size)


def word_loss_and_slope(logits: Tensor, labels: Tensor, padding: int, smoothing: float) -> tuple[Tensor, Tensor]:
    """``losses.loss_and_slope`` in two passes over the logits, which become the slope."""
    losses = torch.empty(len(logits), 2, device=logits.device)
    _word_loss_kernel[(len(logits),)](
        logits, labels, losses, logits.shape[1], padding, smoothing, BLOCK=4096, num_warps=8
    )  # fmt: skip
    return losses.sum(0), logits
