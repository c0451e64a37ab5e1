"""Contrastive learning: a slow encoder's keys wait in a queue as negatives."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MomentumContrast(nn.Module):
    def __init__(self, width=8, size=64, momentum=0.99):
        super().__init__()
        self.momentum = momentum
        self.encoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, width))
        self.slow = copy.deepcopy(self.encoder).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(width, size), dim=0))
        self.register_buffer("pointer", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.slow.parameters(), self.encoder.parameters(), strict=True):
            slow.lerp_(fast, 1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        at = int(self.pointer)
        self.queue[:, at : at + len(keys)] = keys.T
        self.pointer.fill_((at + len(keys)) % self.queue.shape[1])

    def forward(self, first, second, temperature=0.2):
        query = F.normalize(self.encoder(first), dim=1)
        with torch.no_grad():
            self.follow()
            keys = F.normalize(self.slow(second), dim=1)
        positive = (query * keys).sum(1, keepdim=True)
        negative = query @ self.queue
        self.enqueue(keys)
        logits = torch.cat([positive, negative], dim=1) / temperature
        return F.cross_entropy(logits, torch.zeros(len(query), dtype=torch.long))


def two_views(count):
    base = torch.randn(count, 6)
    return base + 0.1 * torch.randn_like(base), base + 0.1 * torch.randn_like(base)


model = MomentumContrast()
optimizer = torch.optim.SGD(model.encoder.parameters(), lr=0.05)
losses = []
for _step in range(20):
    loss = model(*two_views(16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
