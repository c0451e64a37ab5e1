"""Heat in a rod after some time: the same small step, several times."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
POINTS, TIMES = 12, 6


class Step(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)

    def forward(self, state):
        change = self.mix(torch.tanh(state))
        change += state
        return change


class Rod(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inlet = nn.Linear(POINTS, width)
        self.layers = nn.ModuleList([Step(width)] * TIMES)
        self.outlet = nn.Linear(width, POINTS)

    def forward(self, heat):
        state = self.inlet(heat)
        for layer in self.layers:
            state = layer(state)
        return self.outlet(state)


def cooled(heat):
    for _ in range(TIMES):
        heat = heat + 0.3 * (heat.roll(1, 1) + heat.roll(-1, 1) - 2 * heat)
    return heat


heat = torch.rand(60, POINTS)
later = cooled(heat)
model = Rod()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
losses = []
for _step in range(80):
    loss = F.mse_loss(model(heat), later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
