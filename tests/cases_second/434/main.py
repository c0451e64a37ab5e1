"""Whales told apart by their flukes."""

import torch
from mod_434_hardest import hardest_triplets, recall, squared_distances
from torch import nn

torch.manual_seed(0)
WHALES = 6

marks = torch.randn(WHALES, 8)
whale = torch.arange(WHALES).repeat(6)
flukes = torch.cat([marks[whale] + 0.9 * torch.randn(36, 8), torch.randn(36, 8)], dim=1)

embed = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 6))
start = recall(squared_distances(embed(flukes)), whale)
optimizer = torch.optim.Adam(embed.parameters(), lr=0.01)
losses = []
for _step in range(25):
    distance = squared_distances(embed(flukes))
    loss = hardest_triplets(distance, whale, margin=1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
end = recall(distance, whale)
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, recall {start:.2f} -> {end:.2f}")
