"""Where a lift is, as a smooth curve, from the speed of its motor."""

import torch
from mod_429_slope import slope
from torch import nn

torch.manual_seed(0)
START = 0.5


def curve_net(width=24):
    return nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))


def motor(time):
    return torch.sin(2 * time)


def mismatch(curve, time):
    _, rate = slope(curve, time)
    return rate - motor(time)


def beginning(curve):
    return curve(torch.zeros(1, 1)) - START


time = torch.linspace(0.0, 2.0, 40)[:, None]
curve = curve_net()
optimizer = torch.optim.Adam(curve.parameters(), lr=0.01)
history = []
for _step in range(100):
    residual = mismatch(curve, time)
    loss = residual.pow(2).mean() + beginning(curve).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
exact = START + torch.sin(time) ** 2
error = (curve(time) - exact).abs().max().item()
print(f"loss {history[0]:.3f} -> {history[-1]:.4f}, furthest from the truth {error:.3f}")
