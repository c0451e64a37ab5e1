"""Angles of three wing sections: as much lift as wanted, as little drag as possible."""

import torch
import torch.nn.functional as F
from mod_420_table import thin_wing
from torch import nn

torch.manual_seed(0)


class Wing(nn.Module):
    def __init__(self, sections):
        super().__init__()
        self.angle = nn.Parameter(torch.full((sections,), 3.0))
        self.polar = thin_wing(61, -5.0, 15.0)

    def forward(self):
        return self.polar(self.angle), 0.01 + 0.0005 * self.angle**2


wanted = torch.tensor([0.9, 0.7, 0.4])
wing = Wing(len(wanted))
optimizer = torch.optim.Adam(wing.parameters(), lr=0.2)
history = []
for _step in range(80):
    lift, drag = wing()
    loss = F.mse_loss(lift, wanted) + 0.1 * drag.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print("angles", [round(angle, 1) for angle in wing.angle.tolist()])
print(f"loss {history[0]:.4f} -> {history[-1]:.4f}")
