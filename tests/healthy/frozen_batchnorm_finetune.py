"""Fine-tuning a small ResNet: frozen BatchNorm statistics, safe in-place ReLU and dropout."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def batchnorms(model):
    return [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        # ReLU saves its result and BatchNorm its input: nothing that is needed is written over.
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out)).add_(x)
        return F.relu_(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), Block(12), Block(12))
        self.head = nn.Sequential(nn.Dropout(0.1, inplace=True), nn.Linear(12, 2))

    def forward(self, x):
        return self.head(self.body(x).mean(dim=(2, 3)))

    def train(self, mode=True):
        super().train(mode)
        for norm in batchnorms(self):
            norm.train(mode and norm.weight.requires_grad)
        return self


images = torch.randn(64, 1, 8, 8)
labels = torch.arange(64) % 2
images[labels == 1] = images[labels == 1].cumsum(dim=-1) / 2
model = Net()
with torch.no_grad():
    for _ in range(20):
        model(images)  # fills the running statistics
for norm in batchnorms(model):
    norm.requires_grad_(False)
model.train()
before = model.body[1].bn1.running_mean.clone()

trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.Adam(trainable, lr=1e-2)
losses = []
for _ in range(15):
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert torch.equal(model.body[1].bn1.running_mean, before)
assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in trainable)
assert losses[-1] < 0.6 * losses[0], (losses[0], losses[-1])
