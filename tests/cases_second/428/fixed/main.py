"""Prices at an exchange, with rare and huge jumps."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LIMIT = 0.5
RATE = 0.05


def series(length):
    steps = 0.1 * torch.randn(length)
    steps[::37] += 6.0
    return steps.cumsum(0) / 10


def windows(prices, width):
    return prices[:-1].unfold(0, width, 1), prices[width:]


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train_step(model, optimizer, x, y):
    loss = F.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
    optimizer.step()
    return loss.item()


x, y = windows(series(200), 6)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
losses, moves = [], []
for _step in range(40):
    before = flat(model)
    losses.append(train_step(model, optimizer, x, y))
    moves.append((flat(model) - before).norm().item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, longest step {max(moves):.3f}")
