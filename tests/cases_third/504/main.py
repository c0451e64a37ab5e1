"""The level of a lake, followed by a filter with three learned numbers."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class LevelFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.drift = nn.Parameter(torch.tensor(0.0))
        self.log_noise = nn.Parameter(torch.tensor(0.0))
        self.log_jitter = nn.Parameter(torch.tensor(0.0))

    def forward(self, readings):
        noise = math.exp(self.log_noise)
        jitter = math.exp(self.log_jitter)
        level, spread = readings[0], noise + jitter
        cost = 0.0
        for reading in readings[1:]:
            level, spread = level + self.drift, spread + jitter
            total = torch.as_tensor(spread + noise)
            cost = cost + 0.5 * (total.log() + (reading - level) ** 2 / total)
            gain = spread / total
            level, spread = level + gain * (reading - level), (1 - gain) * spread
        return cost / len(readings)


days = torch.arange(40)
readings = 0.1 * days + 0.3 * torch.randn(40)

model = LevelFilter()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _step in range(40):
    loss = model(readings)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, drift {model.drift.item():.3f}")
