"""Find the pose of a known shape from its picture, by drawing it again and again."""

import torch
from torch import nn

torch.manual_seed(0)
SIZE, BLUR = 24, 1.5
SHAPE = torch.tensor([[-6.0, -2.0], [-2.0, -2.0], [2.0, -2.0], [6.0, -2.0], [6.0, 3.0]])


def rotation(angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([torch.stack([c, -s]), torch.stack([s, c])])


def draw(angle, shift):
    placed = SHAPE @ rotation(angle).T + shift + SIZE / 2
    axis = torch.arange(SIZE, dtype=torch.float32)
    pixels = torch.cartesian_prod(axis, axis)
    distance = (pixels[:, None] - placed[None]).pow(2).sum(dim=-1)
    return torch.exp(-distance / (2 * BLUR**2)).sum(dim=1).view(SIZE, SIZE)


with torch.no_grad():
    picture = draw(torch.tensor(0.5), torch.tensor([1.0, -1.5]))
angle, shift = nn.Parameter(torch.tensor(0.2)), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([angle, shift], lr=0.05)
losses = []
for _step in range(60):
    loss = (draw(angle, shift) - picture).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}, angle {angle.item():.2f}")
