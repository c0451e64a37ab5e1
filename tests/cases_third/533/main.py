"""Ripe or not? A new head on a network that knows fruit already."""

import torch
import torch.nn.functional as F
from mod_533_fruit import fruit, known_body
from torch import nn

torch.manual_seed(0)


class RipeNet(nn.Module):
    def __init__(self, body, width):
        super().__init__()
        self.body = body.requires_grad_(False)
        self.head = nn.Linear(width, 1)

    def train(self, mode=True):
        super().train(mode)
        self.body.eval()
        return self

    def forward(self, images):
        with torch.no_grad():
            found = self.body(images)
        return self.head(F.dropout(found, 0.1, self.training)).squeeze(1)


images, ripe = fruit(60)
model = RipeNet(known_body(width=12), width=12)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
losses = []
for _epoch in range(40):
    model.train()
    loss = F.binary_cross_entropy_with_logits(model(images), ripe)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.inference_mode():
    right = ((model(images) > 0).float() == ripe).float().mean().item()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, right {right:.2f}")
