"""tanh with a slope, which keeps only its output for backward."""

import torch


class _ScaledTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = torch.tanh(scale * x)
        ctx.save_for_backward(y)
        ctx.scale = scale
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return ctx.scale * (1 - y * y), None


def scaled_tanh(x, scale):
    return _ScaledTanh.apply(x, scale)
