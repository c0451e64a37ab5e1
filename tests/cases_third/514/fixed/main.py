"""Bats by their echoes, in two phases: head only, then everything."""

import torch
import torch.nn.functional as F
from mod_514_phases import freeze, thaw
from torch import nn

torch.manual_seed(0)


class BatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(24, 12)
        self.head = nn.Linear(12, 2)

    def forward(self, echoes):
        return self.head(F.gelu(self.encoder(echoes)))


kinds = torch.arange(64) % 2
echoes = torch.randn(64, 24)
echoes[:, 1] = echoes[:, 0] * (1 - 2.0 * kinds) + 0.1 * torch.randn(64)

model = BatNet()
before = model.encoder.weight.detach().clone()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
freeze(model.encoder)
losses = []
for epoch in range(60):
    if epoch == 15:
        thaw(model.encoder)
    loss = F.cross_entropy(model(echoes), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[14]:.3f} -> {losses[-1]:.3f}")
