"""How little must change before poisonous mushrooms pass as edible?"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
LIMIT, STEP = 0.6, 0.05


def forest(count):
    poisonous = torch.arange(count) % 2
    features = torch.randn(count, 10, dtype=torch.float64)
    features[:, :5] += 1.2 * poisonous[:, None]
    return features, poisonous


features, poisonous = forest(80)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)).double()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _step in range(40):
    optimizer.zero_grad()
    F.cross_entropy(model(features), poisonous).backward()
    optimizer.step()
model.requires_grad_(False)

mushrooms = features[poisonous == 1]
edible = torch.zeros(len(mushrooms), dtype=torch.long)
nudge = torch.zeros(mushrooms.shape, dtype=torch.float64, requires_grad=True)
losses = []
for _step in range(15):
    loss = F.cross_entropy(model(mushrooms + nudge), edible)
    loss.backward()
    with torch.no_grad():
        nudge -= STEP * nudge.grad.sign()
        nudge.clamp_(-LIMIT, LIMIT)
    nudge.grad = None
    losses.append(loss.item())
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
