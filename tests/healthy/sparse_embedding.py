"""A skip-gram model with sparse gradients, a padding row, and two optimizers."""

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

VOCABULARY, PAD = 41, 0


class SkipGram(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.center = nn.Embedding(VOCABULARY, width, padding_idx=PAD, sparse=True)
        self.context = nn.EmbeddingBag(VOCABULARY, width, mode="sum", padding_idx=PAD, sparse=True)
        self.mix = nn.Linear(width, width)

    def forward(self, center, contexts):
        left = self.mix(self.center(center))
        return (left * self.context(contexts)).sum(dim=1)


def batch(n=64):
    """Words of one group, ten words wide, go together; contexts are padded to four."""
    group = torch.randint(0, 3, (n, 1))  # the fourth group never turns up
    center = 1 + 10 * group + torch.randint(0, 10, (n, 1))
    positive = 1 + 10 * group + torch.randint(0, 10, (n, 4))
    negative = 1 + 10 * ((group + 1) % 3) + torch.randint(0, 10, (n, 4))
    short = torch.arange(4) >= torch.randint(1, 5, (n, 1))
    return center[:, 0], positive.masked_fill(short, PAD), negative.masked_fill(short, PAD)


model = SkipGram()
tables = [*model.center.parameters(), *model.context.parameters()]
sparse = torch.optim.SparseAdam(tables, lr=2e-2)
dense = torch.optim.Adam(model.mix.parameters(), lr=1e-2)
unused = model.center.weight[31:].detach().clone()

losses = []
for _ in range(60):
    center, positive, negative = batch()
    loss = -F.logsigmoid(model(center, positive)).mean()
    loss = loss - F.logsigmoid(-model(center, negative)).mean()
    sparse.zero_grad()
    dense.zero_grad()
    loss.backward()
    sparse.step()
    dense.step()
    losses.append(loss.item())

gradient = model.center.weight.grad
assert gradient.is_sparse and gradient.coalesce().values().abs().sum() > 0
assert model.mix.weight.grad.abs().sum() > 0
assert model.center.weight[PAD].count_nonzero() == 0
assert torch.equal(model.center.weight[31:], unused)
assert torch.isfinite(model.center.weight).all()
assert losses[-1] < 0.4 * losses[0], (losses[0], losses[-1])
