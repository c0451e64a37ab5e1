"""Knitting patterns squeezed into four numbers and back."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def patterns(count, stitches=24):
    rows = torch.arange(stitches) * torch.randint(1, 4, (count, 1))
    return torch.cos(rows * 0.5) + 0.05 * torch.randn(count, stitches)


encoder = nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 4))
decoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 24))
encode_optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
decode_optimizer = torch.optim.SGD(decoder.parameters(), lr=0.02)


def train_step(knit):
    loss = F.mse_loss(decoder(encoder(knit)), knit)
    encode_optimizer.zero_grad()
    decode_optimizer.zero_grad()
    loss.backward()
    encode_optimizer.step()
    decode_optimizer.step()
    return loss.item()


losses = []
for step in range(40):
    losses.append(train_step(patterns(32)))
    if step % 10 == 0:
        print(f"step {step}: {losses[-1]:.3f}")
