"""Sparse mixture of experts: top-k routing, a balance loss, experts that get no token at all."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class MixtureOfExperts(nn.Module):
    def __init__(self, width=8, experts=6, top=2):
        super().__init__()
        self.top = top
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))
            for _ in range(experts)
        )

    def forward(self, x):
        probabilities = self.router(x).softmax(dim=-1)
        weight, chosen = probabilities.topk(self.top, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        counts = []
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            counts.append(len(token))
            if len(token) == 0:
                continue  # nobody came: its parameters keep grad None for this batch
            out = out.index_add(0, token, weight[token, slot, None] * expert(x[token]))
        share = F.one_hot(chosen[:, 0], len(self.experts)).float().mean(dim=0)
        balance = len(self.experts) * (share * probabilities.mean(dim=0)).sum()
        return out, balance, counts


centers = 2 * torch.randn(4, 8)
maps = torch.randn(4, 8, 8) / 3
model = MixtureOfExperts()
head = nn.Linear(8, 8)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-2)
losses, idle, reached = [], 0, set()

for step in range(80):
    # Small batches of one topic each, so that some experts are idle.
    topics = torch.full((16,), step % 4) if step % 2 else torch.randint(0, 4, (16,))
    x = centers[topics] + 0.5 * torch.randn(16, 8)
    y = torch.einsum("nij,nj->ni", maps[topics], x)
    mixed, balance, counts = model(x)
    task = F.mse_loss(head(x + mixed), y)
    optimizer.zero_grad(set_to_none=True)
    (task + 0.01 * balance).backward()
    for i, (expert, count) in enumerate(zip(model.experts, counts, strict=True)):
        got = all(p.grad is not None for p in expert.parameters())
        assert got == (count > 0)
        reached |= {i} if got else set()
    optimizer.step()
    idle += counts.count(0)
    losses.append(task.item())

assert idle > 0 and len(reached) >= 4, (idle, reached)
assert model.router.weight.grad.abs().sum() > 0
assert torch.isfinite(torch.tensor(losses)).all()
assert sum(losses[-8:]) < 0.3 * sum(losses[:8]), (losses[:4], losses[-4:])
