"""The power of a wind farm from the masts nearby and the ones far away."""

import torch
import torch.nn.functional as F
from mod_527_damp import damp
from torch import nn

torch.manual_seed(0)


class Farm(nn.Module):
    def __init__(self, masts):
        super().__init__()
        self.near = nn.Linear(masts, 1)
        self.far = nn.Linear(masts, 1)

    def forward(self, wind):
        near = self.near(wind)
        return near + damp(self.far(wind), 0.1)


wind = torch.randn(80, 6)
power = wind @ torch.linspace(-1.0, 2.0, 6)[:, None] + 0.5

model = Farm(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []
for step in range(40):
    loss = F.mse_loss(model(wind), power)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 10 == 0:
        print(f"step {step:2d}: {losses[-1]:.3f}")
