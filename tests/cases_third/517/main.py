"""Which station does a listener turn to next?"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STATIONS, WIDTH = 30, 8


class Tuner(nn.Module):
    def __init__(self, habits):
        super().__init__()
        self.stations = nn.Embedding(STATIONS, WIDTH, max_norm=1.0)
        self.listener = nn.Linear(habits, WIDTH)

    def forward(self, habits, chosen):
        taste = self.listener(habits)
        scores = taste @ self.stations.weight.T
        heard = self.stations(chosen)
        distance = (taste - heard).square().mean()
        return scores, distance


def evenings(count):
    chosen = torch.arange(count) % STATIONS
    habits = torch.stack([torch.sin(chosen * k / 5.0) for k in range(1, 7)], dim=1)
    return habits + 0.05 * torch.randn(count, 6), chosen


habits, chosen = evenings(90)
model = Tuner(6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
losses = []
for _step in range(60):
    scores, distance = model(habits, chosen)
    loss = F.cross_entropy(scores, chosen) + 0.01 * distance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
