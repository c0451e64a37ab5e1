"""A small network that sharpens photographs of the moon."""

import itertools

import torch
import torch.nn.functional as F
from mod_415_album import Album
from torch import nn

torch.manual_seed(0)


class Sharpen(nn.Module):
    def __init__(self, width=6, depth=4):
        super().__init__()
        sizes = [1, *[width] * depth]
        pairs = itertools.pairwise(sizes)
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in pairs)
        self.head = nn.Conv2d(width, 1, 3, padding=1)
        self.album = Album(every=2)

    def forward(self, x):
        self.album.clear()
        h = x
        for layer in self.layers:
            h = F.silu(layer(h))
            self.album.keep(h)
        return x + self.head(h)


sharp = torch.rand(8, 1, 10, 10)
blurred = F.avg_pool2d(sharp, 3, stride=1, padding=1)
model = Sharpen()
first = model.layers[0].weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _step in range(30):
    loss = F.mse_loss(model(blurred), sharp)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}, {len(model.album.pages)} pages")
