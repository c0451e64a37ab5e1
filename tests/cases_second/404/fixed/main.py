"""Currents in a row of antennas, so that the beam is narrow."""

import math

import torch

RATE = 0.05
ANTENNAS = 7


def beam(currents, angles):
    place = torch.arange(ANTENNAS, dtype=torch.float32) - (ANTENNAS - 1) / 2
    phase = math.pi * torch.sin(angles)[:, None] * place
    return (currents * torch.cos(phase)).sum(1) / ANTENNAS


def spill(currents, angles):
    level = beam(currents, angles)
    outside = angles.abs() > 0.3
    ahead = beam(currents, torch.zeros(1))
    return level[outside].pow(2).mean() + (ahead - 1.0).pow(2).mean()


angles = torch.linspace(-1.4, 1.4, 101)
currents = torch.ones(ANTENNAS, requires_grad=True)
history = []
for step in range(60):
    loss = spill(currents, angles)
    loss.backward()
    history.append(loss.item())
    with torch.no_grad():
        currents -= RATE * currents.grad
        currents.grad = None
    if step % 20 == 0:
        print(f"step {step}: {loss.item():.5f}")

print("currents", [round(value, 2) for value in currents.tolist()])
