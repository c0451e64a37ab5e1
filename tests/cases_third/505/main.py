"""How strongly does a peptide bind?"""

import torch
import torch.nn.functional as F
from mod_505_loading import Peptides, collate
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
RESIDUES = 20

table = nn.Embedding(RESIDUES, 6)
net = nn.GRU(6, 10, batch_first=True)
head = nn.Linear(10, 1)

chains = [torch.randint(RESIDUES, (4 + i % 5,)) for i in range(48)]
strengths = [(chain < 8).float().mean().item() for chain in chains]
loader = DataLoader(Peptides(table, chains, strengths), batch_size=16, collate_fn=collate)

trained = [*table.parameters(), *net.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(trained, lr=0.01)
losses = []
for _epoch in range(15):
    total = 0.0
    for rows, wanted in loader:
        _, last = net(rows)
        loss = F.mse_loss(head(last[0]).squeeze(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total / len(loader))
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
