"""A small network for an analog chip, trained under the chip's scatter."""

import torch
import torch.nn.functional as F
from mod_507_chip import on_a_chip
from torch import nn

torch.manual_seed(0)

voltage = torch.rand(80, 3) * 2 - 1
current = torch.tanh(2 * voltage[:, :1]) + voltage[:, 1:2] * voltage[:, 2:]

model = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(100):
    optimizer.zero_grad()
    guess = on_a_chip(model, voltage, scatter=0.05)
    loss = F.mse_loss(guess, current)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

with torch.no_grad():
    chips = [F.mse_loss(on_a_chip(model, voltage, scatter=0.05), current) for _ in range(5)]
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, five chips: {torch.stack(chips).mean():.3f}")
