"""Cracks in a bridge from vibration at several time scales."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Pyramid(nn.Module):
    def __init__(self, levels=3, width=6):
        super().__init__()
        self.levels = [nn.Conv1d(1, width, 5, padding=2) for _ in range(levels)]
        self.head = nn.Linear(levels * width, 1)

    def forward(self, shake):
        found = []
        for level in self.levels:
            found.append(F.relu(level(shake)).mean(2))
            shake = F.avg_pool1d(shake, 2)
        return self.head(torch.cat(found, dim=1)).squeeze(1)


def bridges(count, samples=64):
    cracked = (torch.arange(count) % 2).float()
    noise = torch.randn(count, 1, samples)
    slow = noise.cumsum(2) / 8
    return torch.where(cracked[:, None, None] > 0, noise, slow), cracked


shake, cracked = bridges(48)
model = Pyramid()
before = [level.weight.detach().clone() for level in model.levels]
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _step in range(40):
    loss = F.binary_cross_entropy_with_logits(model(shake), cracked)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
