"""Recordings of the same bird should lie together."""

import copy

import torch
import torch.nn.functional as F
from mod_536_store import Store
from torch import nn

torch.manual_seed(0)
WIDTH, HEAT = 8, 0.2


def birds(count):
    """Two recordings of each of some birds: the voice, and the noise of the place."""
    voice = torch.randn(count, 4)
    return tuple(torch.cat([voice, torch.randn(count, 12)], dim=1) for _ in range(2))


query_net = nn.Linear(16, WIDTH)
key_net = copy.deepcopy(query_net)
for parameter in key_net.parameters():
    parameter.requires_grad = False
store = Store(64, WIDTH)
optimizer = torch.optim.SGD(query_net.parameters(), lr=0.1, momentum=0.9)
losses = []
for _step in range(120):
    first, second = birds(16)
    query = F.normalize(query_net(first), dim=1)
    with torch.no_grad():
        key = F.normalize(key_net(second), dim=1)
    same = (query * key).sum(1, keepdim=True)
    other = query @ store.keys.clone().T
    scores = torch.cat([same, other], dim=1) / HEAT
    loss = F.cross_entropy(scores, torch.zeros(16, dtype=torch.long))
    optimizer.zero_grad()
    store.put(key)
    loss.backward()
    optimizer.step()
    for own, new in zip(key_net.parameters(), query_net.parameters(), strict=True):
        own.data.mul_(0.9).add_(new.data, alpha=0.1)
    losses.append(loss.item())
print(f"{losses[10]:.3f} -> {losses[-1]:.3f}")
