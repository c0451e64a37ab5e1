"""Vines: how sweet are the grapes after so much sun and rain?"""

import torch
from mod_509_step import train_step
from torch import nn

torch.manual_seed(0)

weather = torch.rand(60, 4)
sweetness = 2 * weather[:, :1] - weather[:, 1:2] + 0.3 * weather[:, 2:3] * weather[:, 3:]

model = nn.Sequential(
    nn.Linear(4, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
)
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
losses = []
for epoch in range(50):
    losses.append(train_step(model, criterion, optimizer, weather, sweetness))
    if epoch % 10 == 0:
        print(f"epoch {epoch:2d}: {losses[-1]:.4f}")
