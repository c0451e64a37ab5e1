"""Straight-through estimators: a rounded activation by detach, sign and round as Functions."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class BinarySign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def quantize(x, levels=15):
    return x + (torch.round(x * levels) / levels - x).detach()


class BinaryLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.abs().mean(dim=1, keepdim=True).detach()
        return F.linear(x, BinarySign.apply(self.weight) * scale, self.bias)


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 64)
        self.second = BinaryLinear(64, 32)
        self.last = nn.Linear(32, 1)

    def forward(self, x):
        x = quantize(torch.sigmoid(self.first(x)))
        x = RoundSTE.apply(torch.tanh(self.second(x)), 7)
        return self.last(x).squeeze(-1)


x = torch.randn(256, 8)
y = torch.sin(x[:, 0]) + 0.5 * x[:, 1]
model = Quantized()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(80):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert losses[-1] < 0.3 * losses[0], (losses[0], losses[-1])
