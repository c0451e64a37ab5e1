"""Gestures from an arm band, on a chip that counts in coarse steps."""

import torch
import torch.nn.functional as F
from mod_445_quantize import Quantize
from torch import nn

torch.manual_seed(0)


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.quantize = Quantize(1.0)
        self.last = nn.Linear(16, 4)

    def forward(self, muscles):
        return self.last(self.quantize(torch.tanh(self.first(muscles))))


muscles = torch.randn(96, 8)
gesture = muscles[:, :4].argmax(1)
model = Gestures()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _step in range(60):
    loss = F.cross_entropy(model(muscles), gesture)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, step {model.quantize.step.item():.3f}")
