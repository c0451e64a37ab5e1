"""Tides at a harbour, with averaged weights for the forecast."""

import torch
import torch.nn.functional as F
from mod_431_average import SlowWeights
from torch import nn

torch.manual_seed(0)

hours = torch.linspace(0.0, 6.0, 120)
level = torch.sin(2 * hours) + 0.3 * torch.sin(4 * hours)
waves = torch.stack([f(k * hours) for k in (1, 2, 3, 4) for f in (torch.sin, torch.cos)], dim=1)

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
average = SlowWeights(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses, forecasts = [], []
for _epoch in range(40):
    loss = F.mse_loss(model(waves).squeeze(1), level)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
    losses.append(loss.item())
    with average, torch.no_grad():
        forecasts.append(F.mse_loss(model(waves).squeeze(1), level).item())
print(f"fast {losses[-1]:.4f}, slow {forecasts[-1]:.4f}")
