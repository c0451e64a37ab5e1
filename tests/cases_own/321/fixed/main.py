import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
BATCH, MICRO = 32, 4
features = torch.randn(128, 6) * torch.tensor([1.0, 5.0, 0.2, 2.0, 1.0, 3.0])
classes = (features[:, 0] + 0.2 * features[:, 1] > 0).long()


def batch(index):
    part = slice(index * BATCH, (index + 1) * BATCH)
    return features[part], classes[part]


def accumulate(model, inputs, labels):
    total = 0.0
    for x, y in zip(inputs.split(MICRO), labels.split(MICRO), strict=True):
        loss = F.cross_entropy(model(x), y) * len(x) / len(inputs)
        loss.backward()
        total += loss.item()
    return total


model = nn.Sequential(nn.Linear(6, 24), nn.LayerNorm(24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
losses = []
for epoch in range(4):
    for index in range(len(features) // BATCH):
        optimizer.zero_grad()
        losses.append(accumulate(model, *batch(index)))
        optimizer.step()
    print(epoch, f"{losses[-1]:.3f}")
