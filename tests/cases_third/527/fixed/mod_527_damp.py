import torch


class Damp(torch.autograd.Function):
    """The input as it is; its gradient comes back multiplied by a factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


def damp(x, factor):
    return Damp.apply(x, factor)
