"""Heights of three islands, each described by a code."""

import torch
from mod_440_field import Field, error

torch.manual_seed(0)

place = torch.rand(64, 2) * 4 - 2
codes = torch.eye(3)
heights = [torch.sin(k * place[:, 0]) * torch.cos(place[:, 1]) for k in (1, 2, 3)]

field = Field()
before = field.hyper.weight.weight.detach().clone()
optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
losses = []
for _epoch in range(40):
    total = 0.0
    for code, height in zip(codes, heights, strict=True):
        loss = error(field, place, code, height)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / 3)
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
