"""Depth of a lake between the soundings; how far a sounding reaches is fitted."""

import torch
import torch.nn.functional as F
from mod_425_kernel import KernelSmoother

torch.manual_seed(0)


def depth(place):
    return torch.sin(2 * place[:, 0]) + 0.1 * place[:, 1]


def split(soundings, values, part):
    held = torch.arange(len(soundings)) % 4 == part
    return soundings[~held], values[~held], soundings[held], values[held]


soundings = torch.rand(80, 2) * 4
values = depth(soundings)
model = KernelSmoother(2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _round in range(15):
    total = 0.0
    for part in range(4):
        known, known_depth, asked, asked_depth = split(soundings, values, part)
        loss = F.mse_loss(model(asked, known, known_depth), asked_depth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / 4)
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
