"""How a gauge's flow is bent until it is a straight line of rain."""

import torch
import torch.nn.functional as F
from mod_523_shape import box_cox
from torch import nn

torch.manual_seed(0)


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.power = nn.Parameter(torch.tensor(0.0))
        self.line = nn.Linear(1, 1)

    def forward(self, flow):
        return self.line(box_cox(flow, self.power)[:, None]).squeeze(1)


rain = torch.rand(60) + 0.2
flow = (1 + 0.5 * (3 * rain - 1)) ** 2

model = Gauge()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for step in range(150):
    loss = F.mse_loss(model(flow), rain)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 == 0:
        print(f"step {step:3d}: {losses[-1]:.5f}, power {model.power.item():.3f}")
