"""Two maps from one satellite image: how cloudy, how warm."""

import torch
from mod_520_tasks import train_step
from torch import nn

torch.manual_seed(0)

images = torch.rand(24, 3, 8, 8)
targets = {
    "cloud": images[:, :1].mean(dim=(2, 3)),
    "warmth": (images[:, 1:2] * images[:, 2:]).mean(dim=(2, 3)),
}

trunk = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
heads = nn.ModuleDict({name: nn.Linear(32, 1) for name in targets})
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=0.01)
losses = []
for step in range(40):
    losses.append(train_step(trunk, heads, images, targets, optimizer))
    if step % 10 == 0:
        print(f"step {step:2d}: {losses[-1]:.4f}")
