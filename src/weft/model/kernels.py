"""Triton kernels of ``row_attention`` and ``linear_word_loss``; imported only if there is a GPU."""

# Kernels are written in Triton's language, which only looks like Python to a type checker.
# pyrefly: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)
FORWARD_QUERIES = 64  # queries that a program works on at a time
BACKWARD_QUERIES = 64


@triton.jit
def _tile(start, end, stride_row, stride_place, stride_head, row, head, L: tl.constexpr, D: tl.constexpr):
    """Offsets of L tokens from ``start`` on, for one head of one row, and which of them exist. (L, D), (L, 1)"""
    place = start + tl.arange(0, L)[:, None]
    offsets = row * stride_row + place * stride_place + head * stride_head + tl.arange(0, D)[None, :]
    return offsets, place < end


@triton.jit
def _scores(
    query, key, query_segments, key_segments, row, start, queries, keys, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Masked scores of Q queries from ``start`` on and all keys, in units of log 2. (Q, K)"""
    query_place = start + tl.arange(0, Q)
    key_place = tl.arange(0, K)
    query_segment = tl.load(query_segments + row * queries + query_place, mask=query_place < queries, other=0)
    key_segment = tl.load(key_segments + row * keys + key_place, mask=key_place < keys, other=-1)
    visible = tl.maximum(query_segment, 0)[:, None] == key_segment[None, :]
    if causal:
        visible = visible & (query_place[:, None] >= key_place[None, :])
    scores = tl.dot(query, tl.trans(key)) * (scale * LOG2_E)
    return tl.where(visible, scores, float("-inf"))


@triton.jit
def _forward_kernel(
    query, key, value, query_segments, key_segments, context, normaliser,
    q_row, q_place, q_head, k_row, k_place, k_head, v_row, v_place, v_head, c_row, c_place, c_head,
    queries, keys, heads, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Q queries of one head of one row."""
    row = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    start = tl.program_id(1) * Q
    q_offsets, q_real = _tile(start, queries, q_row, q_place, q_head, row, head, Q, D)
    k_offsets, k_real = _tile(0, keys, k_row, k_place, k_head, row, head, K, D)
    v_offsets, v_real = _tile(0, keys, v_row, v_place, v_head, row, head, K, D)
    q = tl.load(query + q_offsets, mask=q_real, other=0.0)
    k = tl.load(key + k_offsets, mask=k_real, other=0.0)
    v = tl.load(value + v_offsets, mask=v_real, other=0.0)
    scores = _scores(q, k, query_segments, key_segments, row, start, queries, keys, scale, causal, Q, K)
    highest = tl.max(scores, 1)
    weights = tl.exp2(scores - highest[:, None])
    total = tl.sum(weights, 1)
    result = tl.dot(weights.to(v.dtype), v) / total[:, None]
    c_offsets, c_real = _tile(start, queries, c_row, c_place, c_head, row, head, Q, D)
    tl.store(context + c_offsets, result.to(context.dtype.element_ty), mask=c_real)
    place = start + tl.arange(0, Q)
    tl.store(normaliser + (row * heads + head) * queries + place, highest + tl.log2(total), mask=place < queries)


@triton.jit
def _backward_kernel(
    gradient, query, key, value, query_segments, key_segments, normaliser, query_gradient, key_gradient, value_gradient,
    g_row, g_place, g_head, q_row, q_place, q_head, k_row, k_place, k_head, v_row, v_place, v_head,
    dq_row, dq_place, dq_head, dk_row, dk_place, dk_head, dv_row, dv_place, dv_head,
    queries, keys, heads, scale,
    causal: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """One head of one row, Q queries at a time."""
    row = tl.program_id(0) // heads
    head = tl.program_id(0) % heads
    k_offsets, k_real = _tile(0, keys, k_row, k_place, k_head, row, head, K, D)
    v_offsets, v_real = _tile(0, keys, v_row, v_place, v_head, row, head, K, D)
    k = tl.load(key + k_offsets, mask=k_real, other=0.0)
    v = tl.load(value + v_offsets, mask=v_real, other=0.0)
    k_slope = tl.zeros((K, D), tl.float32)
    v_slope = tl.zeros((K, D), tl.float32)
    for start in range(0, queries, Q):
        q_offsets, q_real = _tile(start, queries, q_row, q_place, q_head, row, head, Q, D)
        g_offsets, g_real = _tile(start, queries, g_row, g_place, g_head, row, head, Q, D)
        q = tl.load(query + q_offsets, mask=q_real, other=0.0)
        g = tl.load(gradient + g_offsets, mask=g_real, other=0.0)
        scores = _scores(q, k, query_segments, key_segments, row, start, queries, keys, scale, causal, Q, K)
        place = start + tl.arange(0, Q)
        normal = tl.load(normaliser + (row * heads + head) * queries + place, mask=place < queries, other=0.0)
        weights = tl.where(q_real, tl.exp2(scores - normal[:, None]), 0.0)
        v_slope += tl.dot(tl.trans(weights.to(g.dtype)), g)
        pull = tl.dot(g, tl.trans(v))  # ∂loss/∂weights
        slope = weights * (pull - tl.sum(weights * pull, 1)[:, None]) * scale  # ∂loss/∂(Q·Kᵀ)
        slope = slope.to(q.dtype)
        k_slope += tl.dot(tl.trans(slope), q)
        dq_offsets, dq_real = _tile(start, queries, dq_row, dq_place, dq_head, row, head, Q, D)
        tl.store(query_gradient + dq_offsets, tl.dot(slope, k).to(query_gradient.dtype.element_ty), mask=dq_real)
    dk_offsets, dk_real = _tile(0, keys, dk_row, dk_place, dk_head, row, head, K, D)
    dv_offsets, dv_real = _tile(0, keys, dv_row, dv_place, dv_head, row, head, K, D)
    tl.store(key_gradient + dk_offsets, k_slope.to(key_gradient.dtype.element_ty), mask=dk_real)
    tl.store(value_gradient + dv_offsets, v_slope.to(value_gradient.dtype.element_ty), mask=dv_real)


QueriesKeysValues = tuple[Tensor, Tensor, Tensor]  # each (batch, position, heads, head), heads dense


def _size(length: int) -> int:
    return max(16, triton.next_power_of_2(length))


def _strides(*tensors: Tensor) -> list[int]:
    assert all(tensor.stride(3) == 1 for tensor in tensors)
    return [stride for tensor in tensors for stride in tensor.stride()[:3]]


def launch_forward(
    query: Tensor, key: Tensor, value: Tensor, query_segments: Tensor, key_segments: Tensor, causal: bool
) -> tuple[Tensor, Tensor]:
    """Return the context vectors and, per query, the logarithm (base 2) of the softmax's denominator."""
    rows, queries, heads, width = query.shape
    keys = key.shape[1]
    context = query.new_empty((rows, queries, heads, width))
    normaliser = query.new_empty((rows, heads, queries), dtype=torch.float32)
    tile = min(FORWARD_QUERIES, _size(queries))
    _forward_kernel[(rows * heads, triton.cdiv(queries, tile))](
        query, key, value, query_segments.contiguous(), key_segments.contiguous(), context, normaliser,
        *_strides(query, key, value, context),
        queries, keys, heads, width**-0.5, causal, tile, _size(keys), width, num_warps=4,
    )  # fmt: skip
    return context, normaliser


def launch_backward(
    gradient: Tensor,
    inputs: QueriesKeysValues,
    query_segments: Tensor,
    key_segments: Tensor,
    normaliser: Tensor,
    causal: bool,
    gradients: QueriesKeysValues,
) -> None:
    """Write the gradients of queries, keys and values into ``gradients``."""
    gradient = gradient if gradient.stride(3) == 1 else gradient.contiguous()
    rows, queries, heads, width = inputs[0].shape
    keys = inputs[1].shape[1]
    tile = min(BACKWARD_QUERIES, _size(queries))
    _backward_kernel[(rows * heads,)](
        gradient, *inputs, query_segments.contiguous(), key_segments.contiguous(), normaliser, *gradients,
        *_strides(gradient, *inputs, *gradients),
        queries, keys, heads, width**-0.5, causal, tile, _size(keys), width, num_warps=4,
    )  # fmt: skip


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
    """Compute ``losses.loss_and_slope`` in two passes over the logits, which become the slope."""
    losses = torch.empty(len(logits), 2, device=logits.device)
    _word_loss_kernel[(len(logits),)](
        logits, labels, losses, logits.shape[1], padding, smoothing, BLOCK=8192, num_warps=16
    )  # fmt: skip
    return losses.sum(0), logits
