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
import torch.nn.functional as F
from weft.model.kernels import launch_backward, launch_forward, word_loss_and_slope
from weft.model.layers import Visible, masked_attention
from weft.model.losses import loss_and_slope

torch.manual_seed(0)
segments = {20: torch.tensor([[0] * 9 + [1] * 9 + [-1] * 2, [0] * 20]).int(),
            30: torch.tensor([[0] * 3 + [1] * 27, [0] * 25 + [-1] * 5]).int()}
for queries, keys, causal in ((20, 20, True), (20, 30, False), (30, 20, False)):
    query = torch.randn(2, queries, 2, 16, requires_grad=True)
    key_value = torch.randn(2, keys, 2, 2, 16, requires_grad=True)
    key, value = key_value.unbind(2)  # not contiguous, as in the model
    visible = Visible(segments[queries], segments[keys], causal)
    plain = masked_attention(query, key, value, visible.mask())
    gradient = torch.randn_like(plain)
    plain_gradients = torch.autograd.grad(plain, (query, key, value), gradient)
    parts = query.detach(), key.detach(), value.detach(), visible.queries, visible.keys
    context, normaliser = launch_forward(*parts, causal)
    gradients = launch_backward(gradient, *parts, normaliser, causal)
    torch.testing.assert_close(context, plain)
    torch.testing.assert_close(gradients, plain_gradients)

logits, labels = 3 * torch.randn(6, 5000), torch.tensor([0, 4, 4999, 7, 0, 4500])
expected = loss_and_slope(logits, labels, 0.1)
torch.testing.assert_close(word_loss_and_slope(logits.clone(), labels, 0, 0.1), expected)
print("kernels agree")
"""


def test_kernels_equal_plain_torch() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    result = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, env=environment)
    assert result.stdout.strip() == "kernels agree", result.stderr
