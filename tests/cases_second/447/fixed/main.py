"""Drag of a ball and the speed of its throws, from filmed places."""

import torch
import torch.nn.functional as F
from mod_447_flight import fly
from torch import nn

torch.manual_seed(0)
MOMENTS = 15


class Throws(nn.Module):
    def __init__(self, guess):
        super().__init__()
        self.start = nn.Parameter(guess.clone())
        self.log_drag = nn.Parameter(torch.tensor(-4.0))

    def forward(self):
        return fly(self.start, self.log_drag.exp(), MOMENTS)


speeds = torch.tensor([[9.0, 8.0], [12.0, 5.0], [7.0, 11.0]])
with torch.no_grad():
    filmed = fly(speeds, torch.tensor(0.05), MOMENTS)
    filmed = filmed + 0.01 * torch.randn_like(filmed)

throws = Throws(speeds - 1.0)
optimizer = torch.optim.Adam(throws.parameters(), lr=0.05)
losses = []
for _step in range(60):
    loss = F.mse_loss(throws(), filmed)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}, drag {throws.log_drag.exp().item():.3f}")
