"""Mean teacher: an averaged copy labels the unlabelled; it learns by EMA, never by gradient."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class Average:
    """An exponential moving average of a model; floats are blended, counters are copied."""

    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, source):
        mine = self.model.state_dict()
        for name, value in source.state_dict().items():
            if value.is_floating_point():
                mine[name].mul_(self.decay).add_(value, alpha=1 - self.decay)
            else:
                mine[name].copy_(value)


def moons(n):
    label = torch.randint(0, 2, (n,))
    angle = torch.rand(n) * torch.pi
    sign = 1 - 2 * label
    points = torch.stack([angle.cos() * sign + label, angle.sin() * sign + 0.3 * label], 1)
    return points + 0.05 * torch.randn(n, 2), label


labelled, labels = moons(24)
unlabelled, hidden = moons(256)
student = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
teacher = Average(student, decay=0.9)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
supervised = []

for step in range(60):
    student.train()
    weak = unlabelled + 0.05 * torch.randn_like(unlabelled)
    strong = unlabelled + 0.15 * torch.randn_like(unlabelled)
    with torch.no_grad():
        guess = teacher.model(weak).softmax(dim=1)
    both = student(torch.cat([labelled, strong]))
    loss = F.cross_entropy(both[:24], labels)
    supervised.append(loss.item())
    ramp = min(1.0, step / 30)
    loss = loss + ramp * F.mse_loss(both[24:].softmax(dim=1), guess)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    teacher.update(student)

with torch.no_grad():
    accuracy = (teacher.model(unlabelled).argmax(1) == hidden).float().mean().item()

assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in student.parameters())
assert all(p.grad is None for p in teacher.model.parameters())
assert supervised[-1] < 0.5 * supervised[0] and accuracy > 0.8, (supervised[-1], accuracy)
