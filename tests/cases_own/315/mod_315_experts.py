"""A layer of experts: each token is sent to the k that its gate scores highest."""

import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, width, count, k):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(count))

    def forward(self, x):
        top = self.gate(x).topk(self.k, dim=-1)
        weight = top.values.softmax(dim=-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            token, slot = torch.where(top.indices == index)
            mixed = weight[token, slot, None] * expert(x[token])
            out = out.index_add(0, token, mixed)
        return x + out
