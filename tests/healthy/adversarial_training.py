"""Adversarial training of a patch mixer by PGD, then a saliency map for one image."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class PatchMixer(nn.Module):
    def __init__(self, patch=4, grid=3, width=24):
        super().__init__()
        self.patch, self.grid = patch, grid
        self.embed = nn.Linear(patch * patch, width)
        self.across = nn.Linear(grid * grid, grid * grid)
        self.within = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.head = nn.Linear(width, 2)

    def forward(self, image):
        b, g, p = len(image), self.grid, self.patch
        # b (gh p) (gw p) -> b (gh gw) (p p)
        tiles = image.view(b, g, p, g, p).permute(0, 1, 3, 2, 4).reshape(b, g * g, p * p)
        x = self.embed(tiles)
        x = x + self.across(x.transpose(1, 2)).transpose(1, 2)
        return self.head((x + self.within(x)).mean(dim=1))


def attack(model, x, y, radius=0.1, steps=2):
    noise = torch.empty_like(x).uniform_(-radius, radius)
    for _ in range(steps):
        noise.requires_grad_(True)
        loss = F.cross_entropy(model(x + noise), y)
        (direction,) = torch.autograd.grad(loss, noise)
        noise = (noise.detach() + 0.6 * radius * direction.sign()).clamp(-radius, radius)
    return (x + noise).detach()


def make_data(n):
    x = 0.5 * torch.randn(n, 12, 12)
    y = torch.randint(0, 2, (n,))
    x[torch.arange(n), :, 5] += (2.0 * y - 1.0)[:, None]
    return x, y


model = PatchMixer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    x, y = make_data(64)
    loss = F.cross_entropy(model(attack(model, x, y)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

x, y = make_data(64)
model.eval()
image = x.clone().requires_grad_()
model(image).gather(1, y[:, None]).sum().backward()
saliency = image.grad.abs().mean(dim=(0, 1))

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert not x.requires_grad and x.grad is None
assert losses[-1] < 0.5 * losses[0], (losses[0], losses[-1])
assert saliency.argmax() == 5, saliency
