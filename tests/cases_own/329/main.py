import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def pretrained():
    convolution, pool = nn.Conv2d(1, 8, 3, padding=1), nn.AdaptiveAvgPool2d(2)
    backbone = nn.Sequential(convolution, nn.BatchNorm2d(8), nn.ReLU(), pool, nn.Flatten())
    with torch.no_grad():
        for _ in range(20):
            backbone(torch.randn(16, 1, 12, 12))
    return backbone


class Transfer(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        for parameter in self.backbone.parameters():
            parameter.requires_grad_(False)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def train_epoch(model, optimizer, batches):
    model.train()
    total = 0.0
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(batches)
    return total


def microscope_images(count):
    y = torch.randint(0, 2, (count,))
    x = 3 + 0.5 * torch.randn(count, 1, 12, 12)
    x[y == 1, :, :6] += 2.0
    return x, y


model = Transfer(pretrained(), classes=2)
stats = model.backbone[1].running_mean.clone()
optimizer = torch.optim.Adam(model.head.parameters(), lr=0.02)
batches = [microscope_images(16) for _ in range(6)]
losses = [train_epoch(model, optimizer, batches) for _epoch in range(4)]
model.eval()
print(f"{losses[0]:.3f} -> {losses[-1]:.3f}")
