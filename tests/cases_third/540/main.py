"""How loud will the street be? Training with a log and a way back to the best weights."""

import copy

import torch
import torch.nn.functional as F
from mod_540_log import Log
from torch import nn

torch.manual_seed(0)

traffic = torch.randn(90, 5)
noise = traffic[:, :1] * 0.7 + traffic[:, 1:2].abs() + 0.1 * torch.randn(90, 1)
train, test = slice(0, 60), slice(60, 90)

model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.6, momentum=0.8)
log = Log()
best, kept, restored = float("inf"), None, 0
losses = []
for epoch in range(60):
    guess = model(traffic[train])
    loss = F.mse_loss(guess, noise[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    with torch.inference_mode():
        miss = F.mse_loss(model(traffic[test]), noise[test]).item()
    log.write(epoch, loss, guess, miss)
    if miss < best:
        best, kept = miss, copy.deepcopy(model.state_dict())
    elif miss > 1.3 * best:
        model.load_state_dict(kept)
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
        restored += 1
print(log.table(every=15))
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, {restored} times back to the best")
