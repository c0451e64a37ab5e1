"""The value of a place on a line, learned from played walks."""

import numpy as np
import torch
import torch.nn.functional as F
from mod_413_returns import play, to_go
from torch import nn

torch.manual_seed(0)
generator = np.random.default_rng(0)
STEPS = 20


def value_net():
    return nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 1))


def walk():
    places, rewards = play(generator, STEPS)
    left = torch.linspace(1.0, 0.0, STEPS)
    state = torch.stack([torch.from_numpy(places), left], dim=1)
    return state, torch.from_numpy(to_go(rewards)) / STEPS


value = value_net()
optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
losses = []
for _episode in range(60):
    state, returns = walk()
    loss = F.mse_loss(value(state).squeeze(1), returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{sum(losses[:10]) / 10:.3f} -> {sum(losses[-10:]) / 10:.3f}")
