"""Quantization-aware training: weights on a grid in forward."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@torch.library.custom_op("own325::fake_quantize", mutates_args=())
def fake_quantize(x: Tensor, step: float, levels: int) -> Tensor:
    return torch.round(x / step).clamp(-levels, levels) * step


@fake_quantize.register_fake
def _(x, step, levels):
    return torch.empty_like(x)


def _keep_range(ctx, inputs, output):
    x, step, levels = inputs
    ctx.save_for_backward(x.abs() <= step * levels)


def _straight_through(ctx, grad):
    (inside,) = ctx.saved_tensors
    return grad * inside, None, None


fake_quantize.register_autograd(_straight_through, setup_context=_keep_range)


class QuantLinear(nn.Linear):
    levels = 7

    def forward(self, x):
        step = float(self.weight.detach().abs().max()) / self.levels
        return F.linear(x, fake_quantize(self.weight, step, self.levels), self.bias)
