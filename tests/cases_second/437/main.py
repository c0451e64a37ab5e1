"""Heat along a wall of layers, from its two ends inwards."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
CELLS = 10


class Wall(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.conduct = nn.Parameter(torch.full((cells - 1,), -1.0))
        self.source = nn.Parameter(torch.zeros(cells))
        self.register_buffer("hottest", torch.zeros(cells))

    def forward(self, ends, steps=6):
        heat = torch.zeros(len(ends), CELLS)
        heat[:, 0] = ends[:, 0]
        heat[:, -1] = ends[:, 1]
        share = torch.sigmoid(self.conduct) / 2
        for _step in range(steps):
            flow = share * (heat[:, :-1] - heat[:, 1:])
            change = torch.zeros_like(heat)
            change[:, 1:] += flow
            change[:, :-1] -= flow
            heat = heat + change.add_(self.source, alpha=0.1)
        self.hottest.copy_(heat.detach().amax(0))
        return heat


ends = torch.rand(40, 2)
with torch.no_grad():
    truth = Wall(CELLS)
    truth.conduct[3] = 1.5
    truth.source[7] = 0.8
    seen = truth(ends)
wall = Wall(CELLS)
optimizer = torch.optim.Adam(wall.parameters(), lr=0.03)
losses = []
for _step in range(80):
    loss = F.mse_loss(wall(ends), seen)
    for p in wall.parameters():
        if p.grad is not None:
            p.grad.zero_()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.5f}, source {wall.source[7].item():.2f}")
