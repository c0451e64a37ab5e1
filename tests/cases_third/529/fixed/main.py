"""The shape of a hanging rope: bend = weight, and both ends are held."""

import torch
from mod_529_slope import along
from torch import nn

torch.manual_seed(0)
WEIGHT = 2.0


def residual(model, place):
    """How far the shape is from the rope's equation."""
    place = place.clone().requires_grad_()
    height = model(place)
    slope = along(height, place)
    bend = along(slope, place)
    return bend - WEIGHT


model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
inside = torch.linspace(0.0, 1.0, 40)[:, None]
ends = torch.tensor([[0.0], [1.0]])
losses = []
for step in range(120):
    loss = residual(model, inside).square().mean() + 10 * model(ends).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 40 == 0:
        print(f"step {step:3d}: {losses[-1]:.4f}")
