"""How many beds are enough on nine nights of ten?"""

import torch
from mod_525_quantile import pinball
from torch import nn

torch.manual_seed(0)


def nights(count):
    """Cold, holidays and the day before, with the arrivals of the night."""
    day = torch.rand(count, 3)
    arrivals = 3 * day[:, 0] + 2 * day[:, 1] * day[:, 2]
    return day, arrivals + 0.2 * torch.rand(count)


day, arrivals = nights(96)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(150):
    loss = pinball(model(day), arrivals, share=0.9)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

with torch.no_grad():
    guess = model(day).flatten()
enough = (guess >= arrivals).float().mean()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}; enough on {100 * enough:.0f} % of the nights")
