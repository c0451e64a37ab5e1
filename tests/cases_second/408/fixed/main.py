"""Water level at a gauge from the rain upstream, in small pieces for a small machine."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
ACCUMULATE = 4


class LevelModel(nn.Module):
    def __init__(self, stations):
        super().__init__()
        self.rain = nn.Conv1d(stations, 8, kernel_size=3)
        self.level = nn.Linear(8, 1)

    def forward(self, series):
        return self.level(torch.tanh(self.rain(series)).mean(2))


def accumulate(model, pieces):
    total = 0.0
    for rain, level in pieces:
        loss = F.mse_loss(model(rain), level)
        (loss / ACCUMULATE).backward()
        total += loss.item()
    return total / len(pieces)


rain = torch.randn(32, 3, 10)
level = rain.mean((1, 2)).unsqueeze(1)
pieces = list(zip(rain.split(8), level.split(8), strict=True))

model = LevelModel(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
losses = []
for _step in range(30):
    optimizer.zero_grad()
    losses.append(accumulate(model, pieces))
    optimizer.step()
print(f"{len(pieces)} pieces a step, {losses[0]:.4f} -> {losses[-1]:.4f}")
