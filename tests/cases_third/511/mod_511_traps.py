import torch
from torch import nn


class TrapNet(nn.Module):
    def __init__(self, kinds, width=16):
        super().__init__()
        self.body = nn.Linear(12, width)
        self.head = nn.Linear(width, kinds)

    def forward(self, images):
        return self.head(torch.relu(self.body(images)))


def sightings(count, kinds):
    """Features of images in which one place in three is bright, by species."""
    kind = torch.arange(count) % kinds
    images = 0.3 * torch.randn(count, 12)
    images[torch.arange(count), 3 * kind] += 2.0
    return images, kind


def grow(model, kinds):
    """Room for more species; what the head knows is kept."""
    old = model.head
    wider = nn.Linear(old.in_features, kinds)
    with torch.no_grad():
        wider.weight[: old.out_features] = old.weight
        wider.bias[: old.out_features] = old.bias
    model.head = wider
