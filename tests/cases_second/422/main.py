"""Which accompaniment belongs to which melody?"""

import torch
import torch.nn.functional as F
from mod_422_scorer import Scorer

torch.manual_seed(0)


def pairs(count, width=10):
    melody = torch.randn(count, width)
    return melody, melody.flip(1) + 0.1 * torch.randn(count, width)


def matching_loss(scores):
    answer = torch.arange(len(scores))
    there = F.cross_entropy(scores, answer)
    back = F.cross_entropy(scores.T, answer)
    return (there + back) / 2


scorer = Scorer(10)
optimizer = torch.optim.Adam(scorer.parameters(), lr=0.02)
losses = []
for _step in range(40):
    scores = scorer(*pairs(24))
    loss = matching_loss(scores)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}, factor {scorer.temperature.exp().item():.2f}")
