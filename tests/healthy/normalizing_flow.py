"""RealNVP in two dimensions: affine couplings with alternating masks, exact likelihood."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))

    def parts(self, kept):
        scale, shift = ((1 - self.mask).repeat(2) * self.net(kept)).chunk(2, dim=1)
        return torch.tanh(scale), shift

    def forward(self, x):
        kept = x * self.mask
        log_scale, shift = self.parts(kept)
        z = kept + (1 - self.mask) * (x * log_scale.exp() + shift)
        return z, log_scale.sum(dim=1)

    def inverse(self, z):
        kept = z * self.mask
        log_scale, shift = self.parts(kept)
        return kept + (1 - self.mask) * (z - shift) * (-log_scale).exp()


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(torch.eye(2)[i % 2]) for i in range(4))

    def log_prob(self, x):
        total = 0.0
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total - 0.5 * x.pow(2).sum(dim=1) - 1.837877  # log(2 pi)

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def data(n):
    a, b = torch.randn(2, n)
    return torch.stack([a, 0.5 * a**2 - 1 + 0.2 * b], dim=1)


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
losses = []
for _ in range(100):
    loss = -flow.log_prob(data(256)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

drawn = flow.sample(500)
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in flow.parameters())
assert losses[-1] < losses[0] - 0.6, (losses[0], losses[-1])
assert torch.corrcoef(torch.stack([drawn[:, 0] ** 2, drawn[:, 1]]))[0, 1] > 0.5
