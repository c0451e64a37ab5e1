"""A dry recording and a wet one: the filter between them is fitted."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LENGTH = 12


class RoomFilter(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.length = length
        self.taps = nn.Parameter(0.3 * torch.randn(2 * length - 1))
        self.register_buffer("fade", torch.linspace(1.0, 0.4, length))

    def matrix(self):
        band = self.taps.clone().as_strided((self.length, self.length), (1, 1))
        band = band * self.fade[:, None]
        return band

    def forward(self, dry):
        return dry @ self.matrix().T


truth = torch.exp(-0.3 * torch.arange(2.0 * LENGTH - 1)).unfold(0, LENGTH, 1)
truth = truth * torch.linspace(1.0, 0.4, LENGTH)[:, None]
dry = torch.randn(200, LENGTH)
wet = dry @ truth.T

room = RoomFilter(LENGTH)
optimizer = torch.optim.Adam(room.parameters(), lr=0.02)
losses = []
for _step in range(150):
    loss = F.mse_loss(room(dry), wet)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"error {losses[0]:.3f} -> {losses[-1]:.5f}")
