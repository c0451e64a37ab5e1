"""A map of crops, water and roads from the air."""

import torch
from mod_526_losses import pixel_loss
from torch import nn

torch.manual_seed(0)
KINDS = 3


def fields(count, size=10):
    """Images of patches, each with the colour of its kind, and the kind of every pixel."""
    patches = torch.randint(KINDS, (count, 2, 2))
    kinds = patches.repeat_interleave(size // 2, 1).repeat_interleave(size // 2, 2)
    colours = torch.eye(3)[kinds].permute(0, 3, 1, 2)
    return colours + 0.3 * torch.randn(count, 3, size, size), kinds


images, kinds = fields(12)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(8, KINDS, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
losses = []
for step in range(60):
    loss = pixel_loss(model(images), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(f"step {step:2d}: {losses[-1]:.3f}")
