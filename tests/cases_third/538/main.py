"""Where do pumps stand? Fitted from distances to wells, some never measured."""

import torch
from torch import nn

torch.manual_seed(0)
PUMPS, WELLS = 6, 5


def distance(a, b):
    """Distances between two sets of places; 0 where they are the same."""
    square = (a[:, None] - b[None]).square().sum(2)
    apart = square > 0
    safe = torch.where(apart, square, torch.ones_like(square))
    return torch.where(apart, safe.sqrt(), torch.zeros_like(square))


def mean_where(values, mask):
    """The mean over the measured values of each row; 0 for a row with none."""
    total = torch.where(mask, values, torch.zeros_like(values)).sum(1)
    return total / mask.sum(1).clamp(min=1)


class Pumps(nn.Module):
    def __init__(self, wells):
        super().__init__()
        self.place = nn.Parameter(wells[torch.arange(PUMPS) % WELLS].clone())
        self.register_buffer("wells", wells)

    def forward(self):
        return distance(self.place, self.wells)


wells = torch.rand(WELLS, 2) * 4
measured = distance(torch.rand(PUMPS, 2) * 4, wells)
known = torch.rand(PUMPS, WELLS) < 0.7
known[0] = False
measured[~known] = float("nan")

model = Pumps(wells)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _step in range(120):
    error = (model() - measured.nan_to_num(0.0)).abs()
    loss = mean_where(error, known).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
