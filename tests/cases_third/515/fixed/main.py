"""How late is a bus, from what happens at all the stops of its line?"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STOPS = 6


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.scale = width**-0.5

    def forward(self, stops):
        queries = self.query(stops)
        keys = self.key(stops)
        values = self.value(stops)
        weights = torch.softmax(queries @ keys.transpose(1, 2) * self.scale, dim=2)
        return stops + weights @ values


class DelayNet(nn.Module):
    def __init__(self, features, width=12):
        super().__init__()
        self.inlet = nn.Linear(features, width)
        self.attention = Attention(width)
        self.delay = nn.Linear(width, 1)

    def forward(self, stops):
        return self.delay(self.attention(self.inlet(stops))).squeeze(2)


stops = torch.randn(50, STOPS, 4)
delays = stops[:, :, 0] + stops[:, :, 1].amax(1, keepdim=True)

model = DelayNet(4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _step in range(80):
    loss = F.mse_loss(model(stops), delays)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
