"""Regression that prefers flat minima: the squared gradient norm is part of the objective."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STRENGTH = 0.05


def flat_gradients(net, x, y):
    loss = F.mse_loss(net(x), y)
    loss.backward(create_graph=True)
    sharpness = sum(p.grad.pow(2).sum() for p in net.parameters())
    total = loss + STRENGTH * sharpness
    total.backward()
    return total.item()


def noisy_line(count):
    x = 2 * torch.rand(count, 1) - 1
    return x, 2 * x + 0.5 + 0.1 * torch.randn(count, 1)


net = nn.Sequential(nn.Linear(1, 16), nn.Softplus(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
losses = []
for _step in range(40):
    x, y = noisy_line(32)
    optimizer.zero_grad()
    losses.append(flat_gradients(net, x, y))
    optimizer.step()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
