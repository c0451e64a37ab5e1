"""Warmth of a greenhouse from sun, wind and heating."""

import torch
import torch.nn.functional as F
from mod_430_pace import Pace
from torch import nn

torch.manual_seed(0)


def warmth(weather):
    sun, wind, heating = weather.T
    return sun * torch.sigmoid(2 - wind) + 0.5 * heating


def batch(size=16):
    weather = torch.randn(size, 3)
    return weather, warmth(weather)[:, None]


model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
pace = Pace(model.parameters(), rate=0.05)
losses = []
for _step in range(60):
    x, y = batch()
    loss = F.mse_loss(model(x), y)
    model.zero_grad(set_to_none=False)
    loss.backward()
    pace.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, rate {pace.rate:.3f}")
