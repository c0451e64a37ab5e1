"""How far does a school draw its pupils from? A circle around each, fitted to enrolment."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
SCHOOLS = 4


class Circles(nn.Module):
    def __init__(self, schools):
        super().__init__()
        self.schools = schools
        self.log_radius = nn.Parameter(torch.zeros(len(schools)))

    def forward(self, homes):
        distance = torch.cdist(self.schools, homes)
        radius = self.log_radius.exp()[:, None]
        inside = distance < radius
        return inside.float().sum(1), radius


def enrolment_loss(counts, radius, enrolled):
    share = (counts - enrolled) / enrolled
    return share.pow(2).mean() + 0.002 * F.softplus(radius).mean()


homes = torch.randn(300, 2) * 2
schools = torch.randn(SCHOOLS, 2)
enrolled = torch.tensor([120.0, 60.0, 90.0, 150.0])
circles = Circles(schools)
optimizer = torch.optim.Adam(circles.parameters(), lr=0.02)
losses = []
for _step in range(80):
    counts, radius = circles(homes)
    loss = enrolment_loss(counts, radius, enrolled)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, counted {counts.round().tolist()}")
