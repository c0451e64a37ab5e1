"""Heat and speed for a weld of given depth and width."""

import torch
import torch.nn.functional as F
from mod_521_balance import Balance
from torch import nn

torch.manual_seed(0)

seams = torch.rand(64, 2)
heat = 300 * seams[:, 0] * (1 + seams[:, 1])
speed = 1.0 / (1 + seams[:, 0])

model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
balance = Balance()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for step in range(80):
    guess = model(seams)
    heat_loss = F.mse_loss(guess[:, 0], heat / 100)
    speed_loss = F.mse_loss(guess[:, 1], speed)
    loss = balance(heat_loss, speed_loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(heat_loss.item() + speed_loss.item())
    if step % 20 == 0:
        print(f"step {step:2d}: {losses[-1]:.4f}")
