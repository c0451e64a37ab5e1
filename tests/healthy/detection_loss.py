"""A detector's loss: index gathers, masked terms, where with safe inputs, clamped logs."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

CLASSES = 3


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 24, 5, stride=2, padding=2), nn.ReLU())
        self.body.extend([nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.ReLU()])
        self.out = nn.Conv2d(24, 1 + 2 + CLASSES, 1)

    def forward(self, images):
        return self.out(self.body(images)).permute(0, 2, 3, 1)  # b, gy, gx, channels


def make_batch(n=32):
    images = 0.1 * torch.randn(n, 1, 16, 16)
    cells, sizes, kinds = [], [], []
    for i in range(0, n, 2):  # every second image is empty
        (gy, gx), (h, w) = torch.randint(0, 4, (2,)), torch.randint(2, 5, (2,))
        kind = int(torch.randint(0, CLASSES, ()))
        images[i, 0, 4 * gy : 4 * gy + h, 4 * gx : 4 * gx + w] = kind + 1.0
        cells.append((i, int(gy), int(gx)))
        sizes.append((float(h), float(w)))
        kinds.append(kind)
    return images, torch.tensor(cells), torch.tensor(sizes), torch.tensor(kinds)


def log_size(size):
    # Empty cells hold 0: the inner where keeps the log away from it, in both directions.
    safe = torch.where(size > 0, size, torch.ones_like(size))
    return torch.where(size > 0, safe.log(), torch.zeros_like(size))


def detection_loss(prediction, cells, sizes, kinds):
    b, gy, gx = cells.unbind(1)
    target = torch.zeros(*prediction.shape[:3], 2)
    target[b, gy, gx] = sizes
    positive = target[..., 0] > 0

    p = prediction[..., 0].sigmoid()
    yes, no = p.clamp(min=1e-6).log(), (1 - p).clamp(min=1e-6).log()
    objectness = -torch.where(positive, (1 - p) ** 2 * yes, p**2 * no).sum()
    error = F.smooth_l1_loss(prediction[..., 1:3], log_size(target), reduction="none").sum(-1)
    boxes = (error * positive).sum()
    classes = F.cross_entropy(prediction[b, gy, gx, 3:], kinds, reduction="sum")
    return (objectness + boxes + classes) / positive.sum().clamp(min=1)


model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(50):
    images, *truth = make_batch()
    loss = detection_loss(model(images), *truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

assert all(torch.isfinite(p.grad).all() and p.grad.any() for p in model.parameters())
assert losses[-1] < 0.4 * losses[0], (losses[0], losses[-1])
