"""Rust on steel: a new head first, the whole network later."""

import torch
import torch.nn.functional as F
from mod_513_thaw import Thaw
from torch import nn

torch.manual_seed(0)


class RustNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, 6, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
        self.head = nn.Linear(6, 1)

    def forward(self, lines):
        return self.head(self.body(lines[:, None]).flatten(1)).squeeze(1)


rusty = (torch.arange(40) % 2).float()
lines = torch.randn(40, 30)
lines = torch.where(rusty[:, None] > 0, lines, lines.roll(1, 1) - lines)

model = RustNet()
before = model.body[0].weight.detach().clone()
callbacks = [Thaw(model.body, epoch=10)]
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trained, lr=0.03)
losses = []
for epoch in range(60):
    for callback in callbacks:
        callback.on_epoch_start(epoch)
    loss = F.binary_cross_entropy_with_logits(model(lines), rusty)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[9]:.3f} -> {losses[-1]:.3f}")
