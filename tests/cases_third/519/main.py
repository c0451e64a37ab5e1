"""Does a plant need shade? Names that are known start from their vectors."""

import io

import torch
import torch.nn.functional as F
from mod_519_vectors import fill, read_vectors
from torch import nn

torch.manual_seed(0)
NAMES = ["fern", "rose", "moss", "cactus", "ivy"]
STORED = io.StringIO("fern 0.9 0.1 0.0\nrose -0.2 0.8 0.3\nmoss 1.1 0.0 -0.1\noak 0.4 0.4 0.4\n")

table = nn.Embedding(len(NAMES), 3)
head = nn.Linear(3, 1)
found = fill(table, NAMES, read_vectors(STORED))
print(f"{found} of {len(NAMES)} names are known")

plants = torch.arange(len(NAMES))
shade = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0])
optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=0.05)
losses = []
for _step in range(30):
    scores = head(table(plants)).squeeze(1)
    loss = F.binary_cross_entropy_with_logits(scores, shade)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
