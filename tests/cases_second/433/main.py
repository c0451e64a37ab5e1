"""Colour and shape of a pot from its shard; the two losses are kept equally large."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ShardNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.SiLU())
        self.colour = nn.Linear(24, 3)
        self.shape = nn.Linear(24, 4)

    def forward(self, shard):
        h = self.body(shard)
        return self.colour(h), self.shape(h)


class Balance:
    """The running ratio of two losses."""

    def __init__(self):
        self.ratios = []

    def ratio(self, first, second):
        self.ratios.append(first.item() / max(second.item(), 1e-8))
        return float(np.median(self.ratios[-5:]))


shards = torch.randn(64, 10)
colour = 10 * shards[:, :3]
shape = shards[:, 3:7].argmax(1)
net, balance = ShardNet(), Balance()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
colour_losses, shape_losses = [], []
for _epoch in range(50):
    colours, shapes = net(shards)
    colour_loss, shape_loss = F.mse_loss(colours, colour), F.cross_entropy(shapes, shape)
    loss = colour_loss + balance.ratio(colour_loss, shape_loss) * shape_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    colour_losses.append(colour_loss.item())
    shape_losses.append(shape_loss.item())
print(f"colour {colour_losses[-1]:.2f}, shape {shape_losses[-1]:.3f}")
