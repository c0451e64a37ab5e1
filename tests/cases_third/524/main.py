"""The height of the sea from sun and moon."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def harbour(hours):
    time = torch.arange(hours) * 1.0
    sun, moon = time * 0.5236, time * 0.5059
    sky = torch.stack([sun.sin(), sun.cos(), moon.sin(), moon.cos()], dim=1)
    height = 0.4 * sky[:, 0] + 1.2 * sky[:, 3] + 0.5
    return sky, height[:, None]


def size(parameters):
    return torch.stack([p.grad.norm() for p in parameters]).norm().item()


sky, height = harbour(256)
order = torch.randperm(256)
sky, height = sky[order], height[order]

model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
losses, norms = [], []
for _epoch in range(12):
    optimizer.zero_grad()
    total = 0.0
    for some, wanted in zip(sky.split(32), height.split(32), strict=True):
        loss = F.mse_loss(model(some), wanted)
        loss.backward()
        norms.append(size(model.parameters()))
        optimizer.step()
        total += loss.item()
    losses.append(total / 8)
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, last gradient {norms[-1]:.3f}")
