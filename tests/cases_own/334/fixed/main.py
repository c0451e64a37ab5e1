from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


@torch.no_grad()
def embed_all(encoder, batches):
    def embed(batch):
        with torch.no_grad():
            return F.normalize(encoder(batch), dim=1)

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(embed, batches))


def pairs(count):
    base = torch.randn(count, 10)
    return base, base + 0.2 * torch.randn(count, 10)


def alignment(encoder, first, second, temperature=0.1):
    a = F.normalize(encoder(first), dim=1)
    b = F.normalize(encoder(second), dim=1)
    return F.cross_entropy(a @ b.T / temperature, torch.arange(len(a)))


encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)
gallery = torch.randn(96, 10).split(16)
index, losses = [], []
for step in range(40):
    loss = alignment(encoder, *pairs(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 10 == 9:
        index += embed_all(encoder, gallery)
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, {len(index)} batches in the index")
