"""Breaths in the signal of a chest strap."""

import torch
import torch.nn.functional as F
from mod_441_validate import validate
from torch import nn

torch.manual_seed(0)


def recording(samples):
    time = torch.arange(samples) * 0.3
    breath = torch.sin(time)[None, None]
    return breath + 0.3 * torch.randn(1, 1, samples), breath


model = nn.Sequential(nn.Conv1d(1, 6, 7), nn.Tanh(), nn.ConvTranspose1d(6, 1, 7))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
train = [recording(60) for _ in range(8)]
held_out = [recording(50), recording(5), recording(40)]
losses, scores, skipped = [], [], 0
for _epoch in range(6):
    for signal, target in train:
        loss = F.mse_loss(model(signal), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    try:
        scores.append(validate(model, held_out))
    except RuntimeError:
        skipped += 1
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, {skipped} validations skipped")
