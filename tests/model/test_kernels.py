"""The GPU kernels, run by Triton's interpreter on the CPU, against plain torch."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

# The interpreter has to be chosen before triton is imported, hence a process of its own.
CHECK = """
import torch
from weft.model import kernels
from weft.model.layers import Visible, masked_attention
from weft.model.losses import loss_and_slope
from weft.model.row_attention import projections, row_attention

torch.manual_seed(0)
segments = {20: torch.tensor([[0] * 9 + [1] * 9 + [-1] * 2, [0] * 20]).int(),
            30: torch.tensor([[0] * 3 + [1] * 27, [0] * 25 + [-1] * 5]).int()}
for tile in (128, 16):  # all queries at once; several tiles
    kernels.FORWARD_QUERIES = kernels.BACKWARD_QUERIES = tile
    for queries, keys, causal in ((20, 20, True), (20, 30, False), (30, 20, False), (30, 30, False)):
        itself = queries == keys
        first = torch.randn(2, queries, 3 if itself else 1, 2, 16, requires_grad=True)
        second = first if itself else torch.randn(2, keys, 2, 2, 16, requires_grad=True)
        visible = Visible(segments[queries], segments[keys], causal)
        plain = masked_attention(*projections(first, second), visible.mask())
        gradient = torch.randn_like(plain)
        inputs = (first,) if itself else (first, second)
        plain_gradients = torch.autograd.grad(plain, inputs, gradient)
        context = row_attention(first, second, visible.queries, visible.keys, causal)
        torch.testing.assert_close(context, plain)
        torch.testing.assert_close(torch.autograd.grad(context, inputs, gradient), plain_gradients)

logits, labels = 3 * torch.randn(6, 5000), torch.tensor([0, 4, 4999, 7, 0, 4500])
expected = loss_and_slope(logits, labels, 0.1)
torch.testing.assert_close(kernels.word_loss_and_slope(logits.clone(), labels, 0, 0.1), expected)
print("kernels agree")
"""


def test_kernels_equal_plain_torch() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, env=environment)
    assert result.stdout.strip() == "kernels agree", result.stderr
