"""The colour of each stone of a wall, from one photograph."""

import torch
import torch.nn.functional as F
from mod_522_camera import develop, sunlight
from torch import nn

torch.manual_seed(0)


class Wall(nn.Module):
    def __init__(self, stones):
        super().__init__()
        self.colour = nn.Parameter(torch.full((stones, 3), 0.5))
        self.tint = nn.Parameter(torch.ones(3))

    def forward(self, light):
        return develop(self.colour * self.tint * light)


stones = 40
light = sunlight(stones)
photograph = develop(torch.rand(stones, 3) * light)

wall = Wall(stones)
optimizer = torch.optim.Adam(wall.parameters(), lr=0.02)
losses = []
for _step in range(80):
    loss = F.mse_loss(wall(light), photograph)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
