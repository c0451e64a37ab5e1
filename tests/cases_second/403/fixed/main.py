"""Radius, angular speed and phase of a moon, from a few plates."""

import math

import torch

torch.manual_seed(0)
SCALE = torch.tensor([10.0, 0.1, 1.0])


def position(elements, time):
    radius, speed, phase = elements
    angle = speed * time + phase
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)


def misfit(elements, time, seen):
    return (position(elements, time) - seen).pow(2).sum(1).mean()


def first_guess():
    return (torch.tensor([0.8, 1.1, 0.5]) * SCALE).requires_grad_()


time = torch.linspace(0.0, 8.0, 20)
truth = torch.tensor([9.3, 0.13, math.pi / 5])
seen = position(truth, time) + 0.01 * torch.randn(20, 2)

elements = first_guess()
optimizer = torch.optim.Adam([elements], lr=0.02)
history = []
for _step in range(120):
    optimizer.zero_grad()
    loss = misfit(elements, time, seen)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print(f"misfit {history[0]:.3f} -> {history[-1]:.3f}")
