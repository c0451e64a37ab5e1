"""Tremor or traffic? A seismometer with tunable band filters."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Bank(nn.Module):
    def __init__(self, filters=5, taps=21):
        super().__init__()
        self.centre = nn.Parameter(torch.linspace(0.2, 1.0, filters))
        self.width = nn.Parameter(torch.full((filters,), 4.0))
        self.register_buffer("time", torch.arange(taps) - taps // 2)

    @property
    def filters(self):
        window = torch.exp(-0.5 * (self.time / self.width[:, None]) ** 2)
        return torch.cos(self.centre[:, None] * self.time) * window / self.width[:, None]

    def forward(self, signal):
        return F.conv1d(signal[:, None], self.filters[:, None])


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.bank = Bank()
        self.head = nn.Linear(5, 1)

    def forward(self, signal):
        return self.head(self.bank(signal).square().mean(2)).squeeze(1)


@torch.no_grad()
def score(model, signal, label):
    return ((model(signal) > 0) == (label > 0.5)).float().mean().item()


label = (torch.arange(40) % 2).float()
pitch = torch.where(label > 0.5, 0.5, 1.3)[:, None]
signal = torch.sin(pitch * torch.arange(80)) + 0.5 * torch.randn(40, 80)

model = Detector()
first = score(model, signal, label)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _step in range(60):
    loss = F.binary_cross_entropy_with_logits(model(signal), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{first:.2f} -> {score(model, signal, label):.2f}")
