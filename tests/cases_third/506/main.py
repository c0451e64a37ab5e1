"""Steer the beam of an antenna array."""

import torch
from mod_506_array import AntennaArray
from torch import nn

torch.manual_seed(0)
ELEMENTS = 6

array = AntennaArray(ELEMENTS)
controller = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, ELEMENTS))
optimizer = torch.optim.Adam([*array.parameters(), *controller.parameters()], lr=0.02)

angles = torch.linspace(-0.6, 0.6, 9)
losses = []
for _step in range(60):
    gains = []
    for angle in angles:
        array.phase = controller(torch.stack([angle, angle**2]))
        gains.append(array.gain(angle))
    loss = -torch.stack(gains).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"gain {-losses[0]:.3f} -> {-losses[-1]:.3f}")
