"""How much of a fertilizer the plants take up: one rate per soil and a bias of the scale."""

import torch
import torch.nn.functional as F
from mod_424_uptake import uptake
from torch import nn

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self, soils):
        super().__init__()
        self.log_rate = nn.Parameter(torch.zeros(soils))
        self.log_scale = nn.Parameter(torch.zeros(soils))

    def forward(self, dose):
        scaled = dose * self.log_scale.exp()
        rate = self.log_rate.exp().expand_as(scaled)
        return uptake(scaled, rate) * self.log_scale.exp()


dose = torch.rand(50, 3) * 4 + 0.2
with torch.no_grad():
    truth = Field(3)
    truth.log_rate.copy_(torch.tensor([0.8, -0.6, 0.3]))
    truth.log_scale.copy_(torch.tensor([0.3, 0.1, -0.4]))
    taken = truth(dose)

field = Field(3)
optimizer = torch.optim.Adam(field.parameters(), lr=0.03)
losses = []
for _step in range(150):
    loss = F.mse_loss(field(dose), taken)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.6f}")
