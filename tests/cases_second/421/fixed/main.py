"""Fineness of wool from its microscope profile."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return x + F.gelu(self.mix(self.norm(x)))


class WoolNet(nn.Module):
    def __init__(self, inputs, width=16, depth=4):
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.leave = nn.Linear(width, 1)

    def forward(self, profile):
        x = self.enter(profile)
        for block in self.blocks:
            x = block(x)
        return self.leave(x).squeeze(1)


profiles = torch.randn(64, 12)
fineness = (profiles[:, :4] * profiles[:, 4:8]).sum(1)
net = WoolNet(12)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
losses = []
for _epoch in range(40):
    loss = F.mse_loss(net(profiles), fineness)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
