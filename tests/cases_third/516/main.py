"""How cars spread over the roads out of a town."""

import torch
import torch.nn.functional as F
from mod_516_roads import close_roads, counts
from torch import nn

torch.manual_seed(0)


class Spread(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.cost = nn.Linear(features, 1)
        self.last_shares = None

    def forward(self, roads, closed):
        shares = torch.softmax(-self.cost(roads).squeeze(2), dim=1)
        self.last_shares = close_roads(shares, closed)
        return self.last_shares


roads = torch.randn(40, 5, 3)
closed = torch.rand(40, 5) < 0.2
closed[:, 0] = False
observed = counts(roads, closed)

model = Spread(3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _step in range(60):
    optimizer.zero_grad()
    loss = F.mse_loss(model(roads, closed), observed)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.4f} -> {losses[-1]:.4f}")
