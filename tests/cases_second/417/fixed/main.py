"""Dry or damp: radar scans of old paintings."""

import torch
import torch.nn.functional as F
from mod_417_pipeline import augmented
from torch import nn

torch.manual_seed(0)


class ScanNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Conv1d(4, 8, kernel_size=5, stride=2)
        self.label = nn.Linear(8, 2)

    def forward(self, scan):
        return self.label(torch.relu(self.features(scan)).amax(2))


def train(model, optimizer, scans, labels):
    total, count = 0.0, 0
    for x, y in augmented(scans, labels, size=16):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    return total / count


labels = torch.arange(64) % 2
scans = torch.randn(64, 4, 20)
scans[labels == 1, 0, 6:10] += 4.0
model = ScanNet()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
losses = [train(model, optimizer, scans, labels) for _epoch in range(6)]
print([round(loss, 3) for loss in losses])
