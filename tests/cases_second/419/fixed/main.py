"""Blood glucose after a meal: one shared start, adapted to each patient."""

import torch
import torch.nn.functional as F
from mod_419_adapt import adapt, predict
from torch import nn

torch.manual_seed(0)


def patient():
    response = torch.tensor([1.0, -0.5, 0.3]) + 0.2 * torch.randn(3)
    meals = torch.randn(20, 3)
    return meals, (meals @ response)[:, None]


start = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 1))
before = start[0].weight.detach().clone()
outer = torch.optim.Adam(start.parameters(), lr=0.02)
patients = [patient() for _ in range(6)]
history = []
for _round in range(25):
    total = 0.0
    for meals, glucose in patients:
        weights = adapt(start, meals[:10], glucose[:10])
        guess = predict(start, weights, meals[10:])
        total = total + F.mse_loss(guess, glucose[10:])
    outer.zero_grad()
    total.backward()
    outer.step()
    history.append(total.item())
print(f"after adaptation {history[0]:.3f} -> {history[-1]:.3f}")
