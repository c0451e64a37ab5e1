"""Which cheese? The layers of a network thaw from the top down."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def thawed(model, layers, *, rate):
    """Thaw some layers and return an optimizer for all that may move now."""
    for layer in layers:
        for parameter in layer.parameters():
            parameter.requires_grad = True
    moving = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.Adam(moving, lr=rate)


smells = torch.randn(60, 9)
cheese = (smells[:, 0] * smells[:, 1] > 0).long()

model = nn.Sequential(
    nn.Linear(9, 24),
    nn.Tanh(),
    nn.Linear(24, 24),
    nn.Tanh(),
    nn.Linear(24, 2),
)
before = [p.detach().clone() for p in model.parameters()]
for parameter in model.parameters():
    parameter.requires_grad = False

optimizer = thawed(model, [model[4]], rate=0.02)
losses = []
for epoch in range(60):
    if epoch == 20:
        optimizer = thawed(model, [model[0], model[2]], rate=0.01)
    loss = F.cross_entropy(model(smells), cheese)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[19]:.3f} -> {losses[-1]:.3f}")
