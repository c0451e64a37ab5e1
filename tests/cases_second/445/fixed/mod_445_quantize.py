import torch
from torch import nn


class Round(torch.autograd.Function):
    """Places on a grid with the given step; passes gradients on within the grid."""

    @staticmethod
    def forward(ctx, x, step):
        place = x / step
        ctx.save_for_backward(place)
        return place.round() * step

    @staticmethod
    def backward(ctx, grad):
        (place,) = ctx.saved_tensors
        inside = (place.abs() < 8).to(grad.dtype)
        return grad * inside, (grad * (place.round() - place) * inside).sum()


class Quantize(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step = nn.Parameter(torch.tensor(step))

    def forward(self, x):
        return Round.apply(x, self.step)
