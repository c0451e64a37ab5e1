"""Is this coin genuine? A net on its weight, size and sound."""

import torch
import torch.nn.functional as F
from mod_528_progress import Progress
from torch import nn

torch.manual_seed(0)


def coins(count):
    genuine = (torch.rand(count) < 0.5).float()
    measures = torch.randn(count, 5) + 1.5 * genuine[:, None]
    return measures, genuine


model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
progress = Progress(every=20)
losses = []
for _step in range(80):
    measures, genuine = coins(32)
    loss = F.binary_cross_entropy_with_logits(model(measures).squeeze(1), genuine)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    progress.update(loss)
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
