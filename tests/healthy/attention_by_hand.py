"""Multi-head attention by hand: causal and padding masks with -inf, heads moved by transpose."""

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x, padding):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        causal = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(causal, float("-inf"))
        scores = scores.masked_fill(padding[:, None, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return self.proj(mixed), weights.detach()


class Copier(nn.Module):
    def __init__(self, vocabulary: int = 9, width: int = 32, length: int = 12):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(0.5 * torch.randn(length, width))
        self.attention = SelfAttention(width, heads=4)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, padding):
        x = self.token(tokens) + self.place[: tokens.shape[1]]
        mixed, self.last_weights = self.attention(x, padding)
        return self.head(self.norm(x + mixed))


tokens = torch.randint(1, 9, (64, 12))
lengths = torch.randint(6, 13, (64,))
padding = torch.arange(12) >= lengths[:, None]
target = tokens.roll(2, dims=1)
valid = ~padding & (torch.arange(12) >= 2)

model = Copier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    logits = model(tokens, padding)
    loss = F.cross_entropy(logits[valid], target[valid])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

seen = model.last_weights
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
assert not seen.requires_grad and torch.isfinite(seen).all()
assert seen.triu(1).count_nonzero() == 0
assert losses[-1] < 0.5 * losses[0], losses[-1]
