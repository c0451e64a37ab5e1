"""A two-task model: a backward call for each loss on one graph, gradients that add up on purpose.

The trunk is rescaled between tasks by the size of each task's gradient.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.kind = nn.Linear(32, 3)
        self.size = nn.Linear(32, 1)

    def forward(self, x):
        hidden = self.trunk(x)
        return hidden, self.kind(hidden), self.size(hidden).squeeze(1)


x = torch.randn(256, 6)
kind = x[:, :3].argmax(dim=1)
size = 10 * (x[:, 3] * x[:, 4])

model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
log = {"kind": [], "size": [], "scale": []}

for _step in range(70):
    optimizer.zero_grad()
    hidden, logits, guess = model(x)
    kind_loss = F.cross_entropy(logits, kind)
    size_loss = F.mse_loss(guess, size)

    # How hard does each task pull at the shared features? Both graphs are needed once more.
    (pull_kind,) = torch.autograd.grad(kind_loss, hidden, retain_graph=True)
    (pull_size,) = torch.autograd.grad(size_loss, hidden, retain_graph=True)
    scale = (pull_kind.norm() / (pull_size.norm() + 1e-12)).item()

    kind_loss.backward(retain_graph=True)
    (scale * size_loss).backward()
    penalty = 1e-4 * sum(p.pow(2).sum() for p in model.trunk.parameters())
    penalty.backward()
    optimizer.step()

    log["kind"].append(kind_loss.item())
    log["size"].append(size_loss.item())
    log["scale"].append(scale)

split = [p.grad.clone() for p in model.parameters()]
with torch.no_grad():
    late_kind = F.cross_entropy(model(x)[1], kind).item()

assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
assert len(split) == 8 and all(torch.isfinite(g).all() for g in split)
assert log["kind"][-1] < 0.3 * log["kind"][0]
assert log["size"][-1] < 0.5 * log["size"][0], (log["size"][0], log["size"][-1])
assert late_kind < log["kind"][0] and min(log["scale"]) > 0
